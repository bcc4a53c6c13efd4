import MediaFormats

extension OrchestratorError {
    /// Creates the refusal of an offer, or of a fragment of one.
    init(_ error: WebRTCOfferError) {
        self.init(
            error.isUnsuitable ? .unacceptable : .malformed,
            error.isUnsuitable ? "offer-unsuitable" : "offer-malformed",
            error.isUnsuitable ? "Nothing in the offer can be taken" : "The body is not a session description",
            detail: error.reason,
            expected: error.isUnsuitable ? "H.264 with packetization-mode=1, and Opus or no audio, bundled" : nil)
    }

    package static let noWHIPSession = OrchestratorError(
        .notFound, "whip-session-not-found", "There is no such session",
        detail: "it has ended, or the address is not complete: publish anew")

    package static let webrtcIsOff = OrchestratorError(
        .notFound, "webrtc-off", "WebRTC is switched off",
        detail: "set webrtc.whip: on, and ingest.rtmp.listen, in the configuration of the service")

    static func tooManyPublishers(_ of: String, _ limit: Int, _ setting: String) -> OrchestratorError {
        OrchestratorError(
            .exhausted, "webrtc-places-taken", "There are too many publishers over WebRTC \(of)",
            detail: "the limit is \(limit), \(setting)", retryAfter: 10)
    }
}
