import EventSubscription
import MediaFormats
import MixModel

extension OrchestratorError {
    /// Creates the refusal of an offer, or of a fragment of one.
    init(_ error: WebRTCOfferError) {
        self.init(
            error.isUnsuitable ? .unacceptable : .malformed,
            error.isUnsuitable ? "offer-unsuitable" : "offer-malformed",
            error.isUnsuitable ? "The offer contains no supported media" : "The body is not a session description",
            detail: error.reason,
            expected: error.isUnsuitable ? "H.264 with packetization-mode=1, and Opus or no audio, bundled" : nil)
    }

    package static let noWHIPSession = OrchestratorError(
        .notFound, "whip-session-not-found", "There is no such session",
        detail: "it has ended, or the address is not complete: publish again")

    /// The session has ended because of its stream.
    ///
    /// - Parameters:
    ///   - isReplaced: Whether another publisher has the stream now.
    ///   - reason: The ingest's words.
    static func whipStreamNotTaken(isReplaced: Bool, _ reason: String) -> OrchestratorError {
        OrchestratorError(
            .notFound, isReplaced ? "whip-stream-replaced" : "whip-stream-refused",
            "The session has ended: its stream was not taken", detail: reason)
    }

    package static let webrtcIsOff = OrchestratorError(
        .notFound, "webrtc-off", "WebRTC is switched off",
        detail: "set webrtc.whip: on, and ingest.rtmp.listen, in the configuration of the service")

    static func tooManyPublishers(_ of: String, _ limit: Int, _ setting: String) -> OrchestratorError {
        OrchestratorError(
            .exhausted, "webrtc-places-taken", "There are too many publishers over WebRTC \(of)",
            detail: "the limit is \(limit), \(setting)", retryAfter: 10)
    }

    /// The free places are kept for other apps.
    ///
    /// - Parameters:
    ///   - all: Number of all places.
    ///   - own: Number of places that the app has.
    static func placesOfPublishersAreKept(of all: Int, from app: AppID, _ own: Int) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "webrtc-full", "There are too many publishers over WebRTC",
            detail: "the app \(app) has \(own) of the \(all) places, and the free ones are kept for other apps: "
                + "end sessions, or raise webrtc.maxPublishers", retryAfter: 10)
    }

    // MARK: - ICE

    static func outdatedICE(_ tag: WebRTCTag) -> OrchestratorError {
        OrchestratorError(
            .outdated, "ice-outdated", "The session's ICE has changed", detail: "it is \(tag.text)",
            field: "If-Match", expected: "the ETag of the newest answer, or * to restart ICE")
    }

    static let otherICE = OrchestratorError(
        .conflict, "ice-other", "The fragment does not belong to the session's ICE",
        detail: "its ice-ufrag is not that of the offer", field: "If-Match", expected: "* to restart ICE")

    static func cannotRestartICE(_ reason: String) -> OrchestratorError {
        OrchestratorError(
            .invalid, "ice-restart-unsupported", "ICE cannot be restarted", detail: reason,
            expected: "a new session")
    }

    // MARK: - Viewers

    package static let noWHEPSession = OrchestratorError(
        .notFound, "whep-session-not-found", "There is no such session",
        detail: "it has ended, or the address is not complete: play again")

    package static let whepIsOff = OrchestratorError(
        .notFound, "webrtc-off", "Playing over WebRTC is switched off",
        detail: "set webrtc.whep: on in the configuration of the service")

    static func tooManyViewers(_ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "webrtc-full", "There are too many viewers over WebRTC",
            detail: "the limit is \(limit), webrtc.maxViewers: HTTP-FLV and HLS carry many more", retryAfter: 10)
    }

    /// The free places are kept for other apps.
    ///
    /// - Parameters:
    ///   - all: Number of all places.
    ///   - own: Number of places that the app has.
    static func restIsKept(of all: Int, from app: AppID, _ own: Int) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "webrtc-full", "There are too many viewers over WebRTC",
            detail: "the app \(app) has \(own) of the \(all) places, and the free ones are kept for other apps: "
                + "play over HTTP-FLV or HLS, end sessions, or raise webrtc.maxViewers", retryAfter: 10)
    }

    static func tooManyViewersOfApp(_ app: AppID, _ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .exhausted, "webrtc-places-taken", "There are too many viewers over WebRTC of this app",
            detail: "the app \(app) may have \(limit): play over HTTP-FLV or HLS, end sessions, or raise "
                + "webrtc.maxViewersPerApp", retryAfter: 10)
    }

    static func tooManyViewersFromAddress(_ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .exhausted, "webrtc-places-taken", "There are too many viewers over WebRTC from this address",
            detail: "the limit is \(limit), webrtc.maxViewersPerAddress", retryAfter: 10)
    }

    static func publishesNothing(_ names: StreamNames) -> OrchestratorError {
        OrchestratorError(
            .notFound, "stream-not-found", "The participant does not publish this stream",
            detail: "\(names.user) publishes no \(names.stream.rawValue) in \(names.room.name), see "
                + "GET /v1/rooms/\(names.room.name)", field: "user")
    }

    static func comesFromElsewhere(_ names: StreamNames) -> OrchestratorError {
        OrchestratorError(
            .invalid, "stream-elsewhere", "The participant's stream cannot be played alone",
            detail: "\(names.user) is pulled from another server, and not over RTMP: play the program of the room",
            field: "user", expected: "a participant who publishes to this service, or at an rtmp:// or rtmps:// URL")
    }

    static func tooManyPulled(_ app: AppID, _ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "webrtc-full", "Too many streams of other servers are played over WebRTC",
            detail: "viewers of the app \(app) may play \(limit) at a time: play the program of the room, publish to "
                + "this service, or raise webrtc.maxPullsPerApp", retryAfter: 10)
    }

    /// - Parameter task: The requested task, if any.
    package static func notOnAir(_ room: RoomID, _ task: TaskID? = nil) -> OrchestratorError {
        OrchestratorError(
            .notFound, "not-on-air", "The room has no program",
            detail: "\(task?.name ?? room.name): a program exists while a task of the room runs, see "
                + "GET /v1/rooms/\(room.name)", field: task == nil ? nil : "task")
    }
}

extension ICEFragment {
    /// Reads the fragment of a client.
    ///
    /// - Throws: `OrchestratorError` for a fragment that is too large or malformed.
    static func read(_ text: String) throws(OrchestratorError) -> ICEFragment {
        guard text.utf8.count <= WebRTCCommand.longestFragment else {
            throw OrchestratorError(.malformed, "fragment-malformed", "The fragment is too large", detail: "")
        }
        do throws(WebRTCOfferError) {
            return try ICEFragment(text)
        } catch {
            throw OrchestratorError(error)
        }
    }
}
