import EncodedMedia
import MixModel

/// Events of streams at ingests, whichever node's.
extension RoomOwner {
    /// Receives an event, unless it is over or has to yield. That is decided in turn with the room's other changes, so that of
    /// two publishers who begin at two nodes one finds the other.
    ///
    /// - Parameter path: The part of the stream's URL behind host and port.
    nonisolated func receive(
        _ event: RoomEvent, ofStreamAt path: String, turn: StreamTurn, at receivedAt: Int64
    ) async throws(OrchestratorError) -> StreamReceipt {
        try await ask { .stream(event, path: path, turn, receivedAt: receivedAt, $0) }
    }

    func handle(
        _ event: RoomEvent, ofStreamAt path: String, _ turn: StreamTurn, _ receivedAt: Int64
    ) async -> Result<StreamReceipt, OrchestratorError> {
        var former: StreamHolder?
        switch StreamMeeting(event, at: path, in: state.room.document) {
        case .free: break
        case .over: return .success(StreamReceipt(outcome: .stale))
        case .other(let holder):
            guard turn.takes(from: holder) else { return .success(StreamReceipt(former: holder)) }
            former = holder
        }
        return await handle(event, receivedAt).map { [former] in StreamReceipt(outcome: $0.outcome, former: former) }
    }
}
