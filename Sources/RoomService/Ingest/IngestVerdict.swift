import EventSubscription
import MixModel

/// The decision about somebody who wants to publish or to play.
package enum IngestVerdict: Hashable, Sendable {
    /// The stream belongs to this participant.
    case allowed(StreamNames)
    /// Who asks may publish, but the stream's name is in no room of the app. `ingest.onPublish` may put it into one.
    ///
    /// - Parameter reason: Words for the person who asked, as in `refused`.
    case nameless(app: AppID, reason: String)
    /// Who asks may play the program of a room.
    ///
    /// - Parameter task: The task that was asked for, if any.
    case program(RoomID, task: TaskID?)
    /// - Parameters:
    ///   - isName: Whether the name is the reason, not who asks.
    ///   - reason: Words for the person who asked, with the cure, without secrets.
    case refused(isName: Bool, reason: String)
}

/// Lets nobody in.
package struct ClosedIngestGate: IngestGate {
    package init() {}

    package func verdict(on request: IngestRequest) -> IngestVerdict {
        .refused(isName: false, reason: "the RTMP server is off")
    }

    package func names(of request: IngestRequest) -> StreamNames? { nil }
}

/// Decides who may publish and play.
package protocol IngestGate: Sendable {
    /// Returns at once. The request's texts are a stranger's.
    func verdict(on request: IngestRequest) -> IngestVerdict

    /// Returns what the name of a stream means, whoever asks; `nil` if it is in no room.
    func names(of request: IngestRequest) -> StreamNames?
}
