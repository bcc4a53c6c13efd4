import EncodedMedia

/// A publisher's claim to a stream that it has taken over from another one.
package struct TakeoverHold: Hashable, Codable, Sendable {
    /// Time in ns since the takeover.
    package var age: Int64
    /// Time in ns until another publisher may take the stream over.
    package var left: Int64

    /// The explanation for a publisher that is refused.
    var words: String {
        let second: Int64 = 1_000_000_000
        // Rounded so that a publisher that waits as long as it is told is let in.
        let wait = left.saturatingSum(second - 1) / second
        return "this stream key was taken over \(max(age, 0) / second) s ago and is being published; "
            + "give each publisher its own key, end the other one, or try again in \(max(wait, 1)) s"
    }
}

/// The activity of a stream's publisher at a node's ingest.
package struct PublisherActivity: Hashable, Codable, Sendable {
    /// Whether it sends audio or video.
    package var isSending = false
    /// Its hold of the stream; `nil` if another publisher may take the stream over.
    package var hold: TakeoverHold?

    package init() {}
}

extension OrchestratorError {
    private static let heldCode = "stream-held"

    /// Refuses a publisher, because another one holds the stream at another node.
    static func streamHeld(_ hold: TakeoverHold) -> OrchestratorError {
        OrchestratorError(.conflict, heldCode, "The stream was taken over a moment ago", detail: hold.words)
    }

    /// Whether it refuses a publisher because another one holds the stream.
    var isOfHeldStream: Bool { code == Self.heldCode }
}
