/// Decides from a server's acknowledgements (Adobe RTMP 1.0, §5.4.3) whether it still reads. Pure.
///
/// The machine of a hanging server keeps taking bytes until its buffers are full, which may hold minutes of a program.
///
/// Not every server acknowledges, and each does so at its own distances. A server is judged by its acknowledgements so
/// far, and rather late than wrongly.
struct ReadingWatch: Sendable {
    /// Number of acknowledgements after which a server counts as sending them regularly.
    static let proof = 3
    /// Number of bytes that may stay unacknowledged beyond the longest distance so far.
    static let margin: Int64 = 1 << 14

    private var count = 0
    private var last: (taken: Int64, at: Int64) = (0, 0)
    /// Longest distance between two acknowledgements, in bytes and in ns.
    private var longest: (bytes: Int64, time: Int64) = (0, 0)
    /// The values at the last check.
    private var checked: (taken: Int64, at: Int64) = (0, 0)

    /// Records an acknowledgement. Its number is ignored, because some servers do not count according to the
    /// specification.
    /// - Parameters:
    ///   - taken: Bytes that the server's machine has taken.
    ///   - now: Current time in ns.
    mutating func confirmed(_ taken: Int64, at now: Int64) {
        if count > 0 { longest = (max(longest.bytes, taken - last.taken), max(longest.time, now - last.at)) }
        count += 1
        last = (taken, now)
    }

    /// Returns the time of the last acknowledgement in ns if another is overdue; `nil` if the server reads or if that
    /// is unknown.
    func silentSince(_ taken: Int64, now: Int64) -> Int64? {
        guard count >= Self.proof, taken - last.taken > longest.bytes + Self.margin,
            now - last.at > 3 * longest.time
        else { return nil }
        return last.at
    }

    /// Judges what the previous check saw, by the acknowledgements that have been read since then, and records what this one
    /// sees. Later acknowledgements may still wait in the socket: for long, if this process stood still.
    ///
    /// - Returns: As `silentSince`.
    mutating func check(_ taken: Int64, now: Int64) -> Int64? {
        defer { checked = (taken, now) }
        return silentSince(checked.taken, now: checked.at)
    }
}
