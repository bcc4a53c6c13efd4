import EventSubscription
import MixModel
import RoomService

/// Other inputs of a connection besides its client's messages, and the work that results from its client's messages.
extension WCSConnection {
    /// A stream that has begun, or begins.
    struct Opened {
        let target: WebRTCPlayTarget
        let isPublished: Bool
        /// Number of the attempt: a client may end a stream and begin another one with the same identifier.
        let number: Int
        /// The door's session; `nil` until the offer is answered.
        var session: String?
        /// News from the door that arrived before the answer was passed on.
        var early: [WebRTCNews] = []
        /// Switches that the client has changed, and of which the room has not been told yet.
        var untold = Switches()
        /// Whether the room is being told.
        var isTelling = false
    }

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
        case mute(id: String, number: Int, StreamNames)
    }

    /// Changes of a stream's tracks; `nil` for a track that has not changed.
    struct Switches: Hashable, Sendable {
        var audio: Bool?
        var video: Bool?
    }

    /// Returns the text with which a client is told why a stream could not begin.
    static func info(_ error: OrchestratorError, isPublished: Bool) -> String {
        switch error.kind {
        // An error of the service, not of the stream.
        case _ where error.code == "webrtc-off" || error.code == "stream-elsewhere": WCSInfo.restricted
        case .malformed, .invalid, .unacceptable: WCSInfo.noCommonCodecs
        case .notFound: WCSInfo.streamNotFound
        case .conflict: isPublished ? WCSInfo.nameInUse : WCSInfo.streamNotFound
        case .failed: WCSInfo.iceTimeout
        // Clients try again later, as they do not after `restricted`.
        case .unavailable: WCSInfo.failedByError
        default: WCSInfo.restricted
        }
    }

    /// Returns the text with which a client is told why its stream has ended.
    static func info(_ cause: WebRTCEndCause?) -> String {
        switch cause ?? .other {
        case .streamReplaced: WCSInfo.nameInUse
        case .streamRefused: WCSInfo.restricted
        default: WCSInfo.rtpActivity
        }
    }
}
