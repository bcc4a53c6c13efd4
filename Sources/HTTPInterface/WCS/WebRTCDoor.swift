import EventSubscription
import MixModel
import RoomService

/// The entrance for WebRTC publishers, independent of the protocol that carries their offers.
package protocol WebRTCDoor: Sendable {
    /// Answers an offer.
    ///
    /// - Parameters:
    ///   - names: Room, participant and kind of the stream.
    ///   - offer: The session description.
    ///   - onChange: Called with the events of the session, if it has begun; the last call reports its end.
    /// - Throws: `OrchestratorError` within a few seconds.
    func open(
        _ names: StreamNames, offer: String, from client: WebRTCClient,
        onChange: @escaping @Sendable (WebRTCNews) -> Void
    ) async throws(OrchestratorError) -> WebRTCDoorSession

    /// Ends a session, whose stream ends immediately. A session that has ended is ignored.
    func close(_ session: String, of app: AppID)
}

/// A session that has begun.
package struct WebRTCDoorSession: Hashable, Sendable {
    /// Identifier of the session.
    package var id: String
    /// The session description of the answer, with the service's candidates.
    package var answer: String

    package init(id: String, answer: String) {
        self.id = id
        self.answer = answer
    }
}

/// The door of a service without WebRTC.
package struct ClosedWebRTCDoor: WebRTCDoor {
    package init() {}

    package func open(
        _ names: StreamNames, offer: String, from client: WebRTCClient,
        onChange: @escaping @Sendable (WebRTCNews) -> Void
    ) async throws(OrchestratorError) -> WebRTCDoorSession {
        throw OrchestratorError(
            .unavailable, "webrtc-off", "WebRTC is off", detail: "this service does not accept publishers over WebRTC")
    }

    package func close(_ session: String, of app: AppID) {}
}
