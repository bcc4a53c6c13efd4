import EventSubscription
import MixModel

/// The decision about a client that wants to publish or play.
package enum IngestVerdict: Hashable, Sendable {
    /// The stream belongs to this participant.
    case allowed(StreamNames)
    /// The client may publish, but the stream's name belongs to no room of the app. `ingest.onPublish` may assign it to
    /// one.
    ///
    /// - Parameter reason: Explanation for the client, as in `refused`.
    case nameless(app: AppID, reason: String)
    /// The client may play the program of a room.
    ///
    /// - Parameter task: The requested task, if any.
    case program(RoomID, task: TaskID?)
    /// - Parameters:
    ///   - isName: Whether the stream's name is the reason, and not the client.
    ///   - reason: Explanation for the client, with the remedy, without secrets.
    case refused(isName: Bool, reason: String)
}

/// A gate that refuses every client.
package struct ClosedIngestGate: IngestGate {
    package init() {}

    package func verdict(on request: IngestRequest) -> IngestVerdict {
        .refused(isName: false, reason: "the RTMP server is off")
    }

    package func names(of request: IngestRequest) -> StreamNames? { nil }
}

/// Decides which clients may publish and play.
package protocol IngestGate: Sendable {
    /// Returns a verdict without waiting. The texts of the request are untrusted.
    func verdict(on request: IngestRequest) -> IngestVerdict

    /// Parses the name of a stream, regardless of the client; `nil` if it belongs to no room.
    func names(of request: IngestRequest) -> StreamNames?
}
