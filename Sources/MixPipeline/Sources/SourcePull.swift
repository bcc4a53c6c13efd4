/// What comes out of a pull, in order.
public enum PullEvent: Hashable, Sendable {
    /// The next bytes of the source's FLV stream, cut anywhere, and when they were here, in ns of CLOCK_MONOTONIC.
    case bytes([UInt8], arrivedAt: Int64)
    /// Nothing more comes; in words that hold no secret. Once, and last.
    case ended(reason: String)
}

/// The connection to one source's stream. Made for one attempt: whoever wants another makes another.
///
/// Events come from the pull's own threads, one after another; the receiver must return soon.
public protocol SourcePull: Sendable {
    /// Begins to end the connection and returns at once. Idempotent. One event that is just being delivered may still
    /// come through.
    func stop()

    /// Ends the connection and waits for it: 2 s at most, also with a server that does not answer.
    func close() async
}
