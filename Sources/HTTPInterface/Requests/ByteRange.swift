/// The part of a file that a request asks for (RFC 9110 §14), in bytes.
enum ByteRange: Hashable, Sendable {
    case whole
    case part(Range<Int>)
    /// The file contains nothing of the requested range.
    case unsatisfiable

    /// Parses a `Range` header. A header that is malformed, or names more than one range, selects the whole file.
    init(_ header: String?, length: Int) {
        guard let header, header.hasPrefix("bytes="), !header.contains(",") else {
            self = .whole
            return
        }
        let bounds = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard bounds.count == 2 else {
            self = .whole
            return
        }
        switch (Int(bounds[0]), Int(bounds[1])) {
        case (let first?, let last?) where first <= last && first >= 0:
            self = first < length ? .part(first..<min(last, length - 1) + 1) : .unsatisfiable
        case (let first?, nil) where bounds[1].isEmpty && first >= 0:
            self = first < length ? .part(first..<length) : .unsatisfiable
        case (nil, let suffix?) where bounds[0].isEmpty && suffix >= 0:
            self = suffix > 0 && length > 0 ? .part(max(0, length - suffix)..<length) : .unsatisfiable
        default: self = .whole
        }
    }
}
