import MixModel

/// The publishers that wait for the service's answer. One that leaves meanwhile is not let in: its event would take the place
/// of the publisher that is connected, and its end would then take the stream out of the room. Pure.
///
/// Bounded by the requests that wait at the ingest.
struct UndecidedPublishers: Sendable {
    private var sessions: Set<String> = []

    /// Returns whether a publisher waits for its answer, as far as the ingest has said.
    func contains(_ session: String) -> Bool { sessions.contains(session) }

    /// Records a request. Those of players are not kept: they take nobody's place.
    mutating func asked(_ request: IngestRequest) {
        if request.isPublish { sessions.insert(request.session) }
    }

    /// Records that a publisher is answered, or has left.
    mutating func remove(_ session: String) { sessions.remove(session) }

    /// Records that an ingest is about to repeat the requests that wait there. Whoever has left unheard is not among them.
    mutating func listAnew() { sessions = [] }
}
