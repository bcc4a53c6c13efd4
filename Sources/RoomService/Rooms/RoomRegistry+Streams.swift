import EncodedMedia
import MixModel

/// What ingests tell of streams.
extension RoomRegistry {
    /// Stores an event of a stream, unless it is the end of one that the room has by now from somewhere else: a publisher who
    /// lost one ingest may be at another before the first has given him up.
    ///
    /// - Parameter path: The part of the stream's URL behind host and port, which no other ingest has.
    func store(_ event: RoomEvent, ofStreamAt path: String) async throws(OrchestratorError) -> EventOutcome {
        let owner = try await owner(event.room)
        if case .streamUnpublished(let user, let kind, _) = event.kind {
            let streams = await owner.snapshot.room.document.participant(user)?.streams
            if let now = streams?.first(where: { $0.kind == kind }), !now.url.endsInUTF8(with: path) { return .stale }
        }
        let outcome = try await owner.receive(event, at: MonotonicClock.now())
        services.metrics.count(.events, outcome.rawValue)
        return outcome
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
