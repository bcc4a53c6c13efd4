import HTTPTypes

/// What a request expects of the layout that it changes: `If-Match`, `If-None-Match` (RFC 9110 §13.1).
enum LayoutPrecondition: Hashable, Sendable {
    case none
    /// The layout has to be there, at one of these versions if any are named.
    case isAt(Set<Int>)
    /// The layout must not be there yet.
    case isNew

    /// - Throws: When `If-None-Match` is anything but `*`, or `If-Match` is neither `*` nor tags in quotes.
    init(_ headers: HTTPFields) throws(OrchestratorError) {
        var isAt: Set<Int>?
        if let text = headers[.ifMatch] {
            let tags = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimming { $0 == " " } }
            guard tags == ["*"] || tags.allSatisfy(Self.isTag) else {
                throw Self.malformed(
                    "If-Match", text, "*, or versions as ETag tells them, with their quotes: \"3\", \"4\"")
            }
            // A tag that is none of ours matches no version.
            isAt = tags == ["*"] ? [] : Set(tags.map { Int($0.trimming { $0 == "\"" }) ?? -1 })
        }
        if let text = headers[.ifNoneMatch] {
            guard text == "*" else {
                throw Self.malformed("If-None-Match", text, "*, which means: only if there is no such layout")
            }
            self = .isNew
        } else {
            self = isAt.map { .isAt($0) } ?? .none
        }
    }

    private static func malformed(_ header: String, _ found: String, _ expected: String) -> OrchestratorError {
        OrchestratorError(
            .badRequest, "invalid-field", "A header cannot be used", detail: "\(header): found \(found)",
            field: header, expected: expected)
    }

    /// RFC 9110 §8.8.3; a number without its quotes, as people type it, is one too.
    private static func isTag(_ text: String) -> Bool {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        // A weak one matches nothing here, and is no mistake.
        let text = text.hasPrefix("W/") ? String(text.dropFirst(2)) : text
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return false }
        return text.utf8.dropFirst().dropLast().allSatisfy { $0 != 0x22 && $0 > 0x20 && $0 < 0x7F }
    }

    func check(_ name: String, _ entry: LayoutCatalogue.Entry?) throws(OrchestratorError) {
        let isThere = entry != nil && entry?.isDeleted == false
        let version = entry?.good?.version.number ?? 0
        switch self {
        case .none:
            return
        case .isNew:
            guard isThere else { return }
        case .isAt(let versions):
            guard !isThere || !(versions.isEmpty || versions.contains(version)) else { return }
        }
        throw OrchestratorError(
            .preconditionFailed, "layout-changed", "The layout is not as expected",
            detail: isThere
                ? "\(name) is at version \(version): read it again and repeat the change" : "\(name) is not there")
    }
}

extension StringProtocol {
    /// Without the characters at both ends that `isOdd` holds for.
    fileprivate func trimming(_ isOdd: (Character) -> Bool) -> String {
        let front = drop(while: isOdd)
        return String(front.reversed().drop(while: isOdd).reversed())
    }
}
