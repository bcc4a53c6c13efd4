/// The division of a file into parts.
package struct PartPlan: Hashable, Sendable {
    /// Size of the file in bytes.
    package let bytes: Int64
    /// Size of each part except the last, in bytes.
    package let partBytes: Int64

    /// Permitted sizes of a part in bytes. S3 refuses smaller ones, except for the last part, and each part is in
    /// memory while it is sent.
    package static let partSizes: ClosedRange<Int64> = 5 << 20...32 << 20
    /// Default size of parts, in bytes.
    package static let standard: Int64 = 8 << 20
    /// Maximum number of parts of an object, as specified by S3.
    static let mostParts: Int64 = 10_000
    /// Number of parts up to which parts keep the requested size.
    static let fewParts: Int64 = 1_000
    /// Maximum size of a file in bytes: 312.5 GiB.
    package static let mostBytes = partSizes.upperBound * mostParts

    /// - Parameter partBytes: Requested size of parts. Large files get larger parts.
    /// - Returns: `nil` if the file is too large.
    package init?(bytes: Int64, partBytes: Int64) {
        guard 0...Self.mostBytes ~= bytes else { return nil }
        self.bytes = bytes
        // Rounded to whole MiB.
        let needed = (bytes / Self.fewParts / (1 << 20) + 1) * (1 << 20)
        self.partBytes = min(max(partBytes, needed, Self.partSizes.lowerBound), Self.partSizes.upperBound)
    }

    /// Whether a single call stores the whole file.
    package var isWhole: Bool { bytes <= partBytes }

    package var count: Int { Int(max((bytes + partBytes - 1) / partBytes, 1)) }

    /// Returns the byte range of a part in the file.
    ///
    /// - Parameter number: 1…`count`.
    package func range(of number: Int) -> Range<Int64> {
        let start = min(Int64(max(number, 1) - 1) * partBytes, bytes)
        return start..<min(start + partBytes, bytes)
    }
}
