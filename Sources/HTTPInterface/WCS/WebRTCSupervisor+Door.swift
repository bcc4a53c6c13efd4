import EventSubscription
import MixModel
import RoomService

extension WebRTCSupervisor: WebRTCDoor {
    package func open(
        _ names: StreamNames, offer: String, from client: WebRTCClient,
        onChange: @escaping @Sendable (WebRTCNews) -> Void
    ) async throws(OrchestratorError) -> WebRTCDoorSession {
        let opening = try await open(
            WebRTCWish(names: names, offer: offer, client: client, needsToken: true), onNews: onChange)
        return WebRTCDoorSession(id: opening.id, answer: opening.answer)
    }

    package func close(_ session: String, of app: AppID) {
        // A session that has ended need not be closed.
        try? close(session, of: app, reason: "the client has stopped")
    }
}
