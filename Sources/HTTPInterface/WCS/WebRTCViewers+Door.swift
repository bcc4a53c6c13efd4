import EventSubscription
import MixModel
import RoomService

extension WebRTCViewers: WebRTCPlayDoor {
    package func play(
        _ target: WebRTCPlayTarget, offer: String, from client: WebRTCClient,
        onChange: @escaping @Sendable (WebRTCNews) -> Void
    ) async throws(OrchestratorError) -> WebRTCDoorSession {
        let wanted: WebRTCViewWish.Target =
            switch target {
            case .program(let room): .program(room, task: nil)
            case .participant(let names): .participant(names)
            }
        let opening = try await open(
            WebRTCViewWish(target: wanted, offer: offer, client: client, needsToken: true, staysHere: true),
            onNews: onChange)
        return WebRTCDoorSession(id: opening.id, answer: opening.answer)
    }

    package func stopPlaying(_ session: String, of app: AppID) {
        // A session that has ended need not be closed.
        try? close(session, of: app)
    }
}
