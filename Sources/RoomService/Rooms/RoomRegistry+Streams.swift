import EncodedMedia
import EventSubscription
import MixModel
import TaskStore

/// Reports of ingests about streams.
extension RoomRegistry {
    /// Stores an event of a stream, unless it is the end of one that the room has by now from somewhere else, or a beginning
    /// that yields to a publisher at another ingest.
    ///
    /// - Parameter path: The part of the stream's URL after host and port, which is unique to the ingest.
    /// - Parameter path: The part of the stream's URL behind host and port, which no other ingest has.
    func store(
        _ event: RoomEvent, ofStreamAt path: String, turn: StreamTurn
    ) async throws(OrchestratorError) -> StreamReceipt {
        let receipt = try await owner(event.room).receive(
            event, ofStreamAt: path, turn: turn, at: MonotonicClock.now())
        if let outcome = receipt.outcome { services.metrics.count(.events, outcome.rawValue) }
        return receipt
    }

    /// Returns the URL at which a room has a stream; `nil` if it has none. As stored, whichever node has the room.
    func storedURL(of names: StreamNames) async throws(OrchestratorError) -> String? {
        do {
            let room = try await services.store.room(names.room)?.document
            return room?.participant(names.user)?.streams.first { $0.kind == names.stream }?.url
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Returns the rooms of this node that send their programs to this path, at any host.
    func rooms(sendingTo path: String) -> [RoomID] {
        Set(services.destinations.tasks(sendingTo: path).compactMap { room(of: $0) }).sorted()
    }

    /// Adds an entry about a publisher to the timelines of a room's active tasks.
    ///
    /// - Returns: Whether the room is in memory.
    func noteOfStream(_ words: String, in room: RoomID) -> Bool {
        guard hasInMemory(room) else { return false }
        note(TimelineEntry(kind: .event, message: words, cause: "the RTMP server"), in: room)
        return true
    }
}
