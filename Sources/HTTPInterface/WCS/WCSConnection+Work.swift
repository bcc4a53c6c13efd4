import EventSubscription
import MixModel
import RoomService

/// What comes to a connection beside its client's messages, and what its client's messages lead to.
extension WCSConnection {
    /// What others say of a stream.
    struct Change: Sendable {
        enum What: Sendable {
            case news(WebRTCNews)
            /// The publisher of a played stream has ended it.
            case lost
        }
        let id: String
        /// Number of the attempt to begin.
        let number: Int
        let what: What
    }

    /// What the publisher of a played stream says to its players.
    struct Saying: Sendable {
        let id: String
        let type: String
        let payload: JSONValue?
    }

    /// Actions that take time.
    enum Work: Sendable {
        case publish(id: String, number: Int, StreamNames, offer: String)
        case play(id: String, number: Int, WebRTCPlayTarget, offer: String)
        case look(id: String, WebRTCPlayTarget)
        case mute(StreamNames, audio: Bool?, video: Bool?)
    }
}
