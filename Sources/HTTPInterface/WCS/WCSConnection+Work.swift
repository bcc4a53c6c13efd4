import EventSubscription
import MixModel
import RoomService

/// Other inputs of a connection besides its client's messages, and the work that results from its client's messages.
extension WCSConnection {
    /// A change of a stream that is reported by others.
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

    /// A message of a played stream's publisher to its players.
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
