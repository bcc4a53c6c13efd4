/// Cuts a byte stream into lines.
struct LineBuffer: Sendable {
    /// A plan for a room of sixteen with long URLs is far below this.
    static let maximumLength = 1 << 20

    /// In bytes.
    private let limit: Int
    private var rest: [UInt8] = []
    /// Up to the end of a line that was too long.
    private var isSkipping = false

    init(limit: Int = LineBuffer.maximumLength) { self.limit = limit }

    /// The complete lines, without their ends; `nil` if a line is longer than `limit`. Of that one nothing is kept.
    mutating func push(_ new: [UInt8]) -> [[UInt8]]? {
        var lines: [[UInt8]] = []
        var isTooLong = false
        var pieces = new.split(separator: 0x0A, omittingEmptySubsequences: false)
        let last = pieces.popLast() ?? []
        for piece in pieces {
            let line = rest + piece
            rest = []
            if line.count > limit { isTooLong = true } else if !isSkipping { lines.append(line) }
            isSkipping = false
        }
        if !isSkipping { rest += last }
        if rest.count > limit {
            (rest, isSkipping, isTooLong) = ([], true, true)
        }
        return isTooLong ? nil : lines
    }
}
