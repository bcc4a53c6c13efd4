/// Cuts a byte stream into lines.
struct LineBuffer: Sendable {
    /// A plan for a room of sixteen with long URLs is far below this.
    static let maximumLength = 1 << 20

    private var bytes: [UInt8] = []

    /// The complete lines, without their ends; `nil` if a line is longer than `maximumLength`.
    mutating func push(_ new: [UInt8]) -> [[UInt8]]? {
        bytes += new
        var lines: [[UInt8]] = []
        while let end = bytes.firstIndex(of: 0x0A) {
            lines.append(Array(bytes[..<end]))
            bytes.removeFirst(end + 1)
        }
        return bytes.count > LineBuffer.maximumLength ? nil : lines
    }
}
