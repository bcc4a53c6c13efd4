/// Counts the responses to a server that wait among the media published to it. Pure.
///
/// A connection does not know which of its bytes are responses, so they are counted from one on until that one has left
/// this machine, and then anew. If the count never exceeds a limit, less than twice that limit waits.
struct AnswerBacklog: Hashable, Sendable {
    /// Number of bytes of counted responses.
    private(set) var bytes = 0
    /// Position in the connection's bytes behind the first counted response.
    private var end: Int64 = 0

    /// Adds a response.
    ///
    /// - Parameters:
    ///   - count: Its size in bytes.
    ///   - progress: Progress of the connection after the response was passed to it.
    mutating func add(_ count: Int, _ progress: TCPConnection.Progress) {
        let left = progress.acknowledged + Int64(progress.unacknowledged)
        if left >= end { (bytes, end) = (0, left + Int64(progress.waiting)) }
        bytes += count
    }
}
