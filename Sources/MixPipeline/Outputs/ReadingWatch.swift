/// Tells whether a server still reads, by its acknowledgements (Adobe RTMP 1.0, §5.4.3): the machine of a server that hangs
/// goes on taking bytes until its buffers are full, which are minutes of a program. Pure.
///
/// Not every server acknowledges, and each at distances of its own. One is judged by what it did so far, and late rather
/// than wrongly.
struct ReadingWatch: Sendable {
    /// Acknowledgements after which a server counts as one that keeps to it.
    static let proof = 3
    /// Bytes beyond the longest distance so far that may stay without an acknowledgement.
    static let margin: Int64 = 1 << 14

    private var count = 0
    private var last: (taken: Int64, at: Int64) = (0, 0)
    /// Between two acknowledgements, in bytes and in ns.
    private var longest: (bytes: Int64, time: Int64) = (0, 0)

    /// An acknowledgement has come; its number does not matter, as some servers do not count as the specification does.
    /// - Parameters:
    ///   - taken: Bytes that the server's machine has.
    ///   - now: In ns.
    mutating func confirmed(_ taken: Int64, at now: Int64) {
        if count > 0 { longest = (max(longest.bytes, taken - last.taken), max(longest.time, now - last.at)) }
        count += 1
        last = (taken, now)
    }

    /// When it read last, if it should have said more since; `nil` = it reads, or nobody can tell.
    func silentSince(_ taken: Int64, now: Int64) -> Int64? {
        guard count >= Self.proof, taken - last.taken > longest.bytes + Self.margin,
            now - last.at > 3 * longest.time
        else { return nil }
        return last.at
    }
}
