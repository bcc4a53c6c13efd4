import EventSubscription
import MixModel
import RoomService

/// A stream that may be watched over WebRTC.
package enum WebRTCPlayTarget: Hashable, Sendable {
    /// A room's program.
    case program(RoomID)
    /// A participant's stream.
    case participant(StreamNames)

    package var room: RoomID {
        switch self {
        case .program(let room): room
        case .participant(let names): names.room
        }
    }
}

/// The entrance for WebRTC viewers, independent of the protocol that carries their offers.
package protocol WebRTCPlayDoor: Sendable {
    /// Answers an offer.
    ///
    /// - Parameters:
    ///   - offer: The viewer's session description.
    ///   - onChange: Called with the events of the session, if it has begun; the last call reports its end.
    /// - Throws: `OrchestratorError` within a few seconds.
    func play(
        _ target: WebRTCPlayTarget, offer: String, from client: WebRTCClient,
        onChange: @escaping @Sendable (WebRTCNews) -> Void
    ) async throws(OrchestratorError) -> WebRTCDoorSession

    /// Ends a viewer's session. A session that has ended is ignored.
    func stopPlaying(_ session: String, of app: AppID)
}

/// The door of a service that plays nothing over WebRTC.
package struct ClosedWebRTCPlayDoor: WebRTCPlayDoor {
    package init() {}

    package func play(
        _ target: WebRTCPlayTarget, offer: String, from client: WebRTCClient,
        onChange: @escaping @Sendable (WebRTCNews) -> Void
    ) async throws(OrchestratorError) -> WebRTCDoorSession {
        throw OrchestratorError(
            .unavailable, "webrtc-off", "WebRTC is off", detail: "this service does not play streams over WebRTC")
    }

    package func stopPlaying(_ session: String, of app: AppID) {}
}
