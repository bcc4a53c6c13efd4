/// Splits a byte stream into lines.
package struct LineBuffer: Sendable {
    /// Default limit of a line, in bytes. A plan for a room of 16 with long URLs is far below it.
    package static let maximumLength = 1 << 20

    /// Longest line, in bytes.
    private let limit: Int
    private var rest: [UInt8] = []
    /// Whether bytes are skipped up to the end of an oversized line.
    private var isSkipping = false

    package init(limit: Int = LineBuffer.maximumLength) { self.limit = limit }

    /// Returns the complete lines without their ends; `nil` if a line is longer than `limit`. No part of such a line is
    /// kept.
    package mutating func push(_ new: [UInt8]) -> [[UInt8]]? {
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
