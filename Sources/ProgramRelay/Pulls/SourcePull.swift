import EncodedMedia

/// An event of a pull. Events come in order.
package enum PullEvent: Hashable, Sendable {
    /// The server has answered and sends a stream, which may still be without media. Occurs at most once.
    case connected
    /// The next items of the source's stream, with their time of arrival in ns of CLOCK_MONOTONIC.
    case media([MediaItem], arrivedAt: Int64)
    /// The stream is over. Occurs once, and last.
    case ended(PullEnd)
}

/// The connection to a source's stream, for one attempt. Each further attempt is a new pull.
///
/// The pull parses the stream's format. Events are delivered on the pull's own threads, one after another; the receiver
/// must return soon. A pull that its owner ends delivers no `.ended`.
package protocol SourcePull: Sendable {
    /// Whether `requestKeyframe()` reaches the sender.
    var takesKeyframeRequests: Bool { get }

    /// Asks the sender for a keyframe and returns at once. Does nothing unless `takesKeyframeRequests`.
    ///
    /// The caller must limit its requests.
    func requestKeyframe()

    /// Tracks that are transcoded by the pull, because relays do not support their codec.
    var transcoded: Set<Track> { get }

    /// Begins to end the connection and returns at once. Idempotent. An event that is being delivered may still arrive.
    func stop()

    /// Ends the connection and waits until it is closed: at most 2 s, even with a server that does not answer.
    func close() async
}

extension SourcePull {
    package var takesKeyframeRequests: Bool { false }
    package func requestKeyframe() {}
    package var transcoded: Set<Track> { [] }
}
