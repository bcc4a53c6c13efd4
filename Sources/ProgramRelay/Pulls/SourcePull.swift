/// An event of a pull. Events come in order.
public enum PullEvent: Hashable, Sendable {
    /// The next bytes of the source's FLV stream, cut anywhere, with their time of arrival in ns of CLOCK_MONOTONIC.
    case bytes([UInt8], arrivedAt: Int64)
    /// The connection has ended, for a reason in words that hold no secret. Comes once, and last.
    case ended(reason: String)
}

/// The connection to one source's stream, made for one attempt. Each further attempt is a new pull.
///
/// Events come from the pull's own threads, one after another; the receiver must return soon.
public protocol SourcePull: Sendable {
    /// Begins to end the connection and returns at once. Idempotent. An event that is being delivered may still arrive.
    func stop()

    /// Ends the connection and waits until it is closed: at most 2 s, even with a server that does not answer.
    func close() async
}
