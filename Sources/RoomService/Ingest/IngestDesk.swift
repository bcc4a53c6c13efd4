import EncodedMedia
import EventSubscription
import MixModel

/// Tracks the streams at the service's ingest, and turns the ingest's reports into events. Pure: times are arguments,
/// in ns of a monotonic clock.
///
/// `PublisherSessions` orders the events, as it does for media servers' hooks.
struct IngestDesk: Sendable {
    private struct Known: Sendable {
        var session: String
        var isConnected = true
        /// Time since which the ingest has not listed the stream.
        var missingSince: Int64?
    }

    /// Name of the ingest in `PublisherSessions`.
    private static let hook = "ingest"
    private static let peer = "rtmp"
    private static let source = "/ingest/rtmp"

    private let run: String
    private var sessions: PublisherSessions
    private var known: [IngestStreamKey: Known] = [:]
    /// Streams whose publishers are about to be let in.
    private var beginning: Set<IngestStreamKey> = []
    /// Whether the service is connected to an ingest, which then reports the end of each of its streams. No stream
    /// begins before the first connection.
    private var hasIngest = true

    /// - Parameters:
    ///   - run: A word that is unique to this run of the service.
    ///   - journal: Streams that an earlier run has put into rooms, with their sessions.
    init(run: String, journal: [IngestStreamKey: String] = [:], now: Int64) {
        self.run = run
        sessions = PublisherSessions(run: run)
        known = journal.mapValues { Known(session: $0, isConnected: false, missingSince: now) }
        // If another publisher is refused, the end of the one that the room has still counts.
        for (key, session) in journal where !session.isEmpty {
            _ = admit(published(key, session, .continues, ""), now)
        }
    }

    /// The streams that are in rooms, with their sessions.
    var journal: [IngestStreamKey: String] { known.mapValues(\.session) }

    /// The streams that are in rooms.
    var keys: Set<IngestStreamKey> { Set(known.keys) }

    /// Returns whether another publisher of the stream is connected.
    func hasPublisher(_ key: IngestStreamKey) -> Bool { known[key]?.isConnected ?? false }

    func has(_ key: IngestStreamKey) -> Bool { known[key] != nil }

    /// Returns whether the event of a publisher of the stream is being stored.
    func isBeginning(_ key: IngestStreamKey) -> Bool { beginning.contains(key) }

    /// Returns whether a publisher of the stream may begin if its app may have this many streams.
    ///
    /// A publisher that takes over a stream or returns to it has the stream's place. Streams of other apps do not count.
    func hasPlace(for key: IngestStreamKey, most: Int) -> Bool {
        guard !has(key) else { return true }
        let app = key.names.room.app
        let isOfApp = { (other: IngestStreamKey) in other.names.room.app == app }
        return known.keys.count(where: isOfApp) + beginning.count { isOfApp($0) && !has($0) } < most
    }

    /// The publisher whose stream is in its room; `nil` if it is not.
    func session(of key: IngestStreamKey) -> String? { known[key]?.session }

    /// Returns the event of a publisher who wants to begin, to be stored before it goes on. The caller must then call
    /// `settle` with the result.
    mutating func begins(_ key: IngestStreamKey, session: String, url: String, now: Int64) -> RoomEvent? {
        guard let event = admit(published(key, session, .begins, url), now) else { return nil }
        beginning.insert(key)
        return event
    }

    /// Records the result of storing the event of `begins`.
    mutating func settle(
        _ key: IngestStreamKey, session: String, url: String, as settlement: PublisherSessions.Settlement, now: Int64
    ) {
        beginning.remove(key)
        sessions.settle(
            published(key, session, .begins, url), of: Self.hook, peer: Self.peer, as: settlement)
        guard settlement == .stored else { return }
        // The previous session is over: no end of it will arrive.
        if let old = known[key]?.session, old != session { _ = admit(ended(key, old), now) }
        // An ingest that was lost meanwhile may never report the end.
        known[key] = Known(session: session, isConnected: hasIngest, missingSince: hasIngest ? nil : now)
    }

    /// Records that the ingest has listed a stream.
    ///
    /// - Returns: Whether the room knows the stream. If not, `begins` must follow.
    mutating func isLive(_ key: IngestStreamKey, session: String, isConnected: Bool) -> Bool {
        guard known[key]?.session == session else { return false }
        // The report was made before the ingest was lost.
        guard hasIngest else { return true }
        known[key]?.isConnected = isConnected
        known[key]?.missingSince = nil
        return true
    }

    mutating func interrupted(_ key: IngestStreamKey, session: String) {
        if known[key]?.session == session { known[key]?.isConnected = false }
    }

    /// Returns the event of a stream that has ended; `nil` if the stream is unknown or has another session. The caller
    /// must call `settleEnd` with the result of storing it.
    mutating func ends(_ key: IngestStreamKey, session: String, now: Int64) -> RoomEvent? {
        guard known[key]?.session == session else { return nil }
        // If it cannot be stored, it is tried again after the grace period.
        known[key]?.isConnected = false
        known[key]?.missingSince = now
        return admit(ended(key, session), now)
    }

    /// Records that a publisher that was let in had left before, and that the ingest still has the one before it.
    ///
    /// Nothing is stored: all publishers of a stream at one ingest have one URL, which the room has from either.
    ///
    /// - Parameter session: The publisher that has left.
    /// - Returns: Whether the present publisher has got its place back; `false` if a newer one has it.
    mutating func returns(_ key: IngestStreamKey, to present: IngestStream, from session: String, now: Int64) -> Bool {
        guard known[key]?.session == session else { return false }
        let again = published(key, present.session, .begins, "")
        _ = admit(again, now)
        sessions.settle(again, of: Self.hook, peer: Self.peer, as: .stored)
        // Otherwise an early end of the present publisher would be taken for that of one that was never let in.
        _ = admit(ended(key, session), now)
        known[key] = Known(
            session: present.session, isConnected: hasIngest && present.isConnected,
            missingSince: hasIngest ? nil : now)
        return true
    }

    /// Records the result of storing the end of a stream.
    mutating func settleEnd(_ key: IngestStreamKey, session: String, as settlement: PublisherSessions.Settlement) {
        sessions.settle(ended(key, session), of: Self.hook, peer: Self.peer, as: settlement)
        if settlement != .failed, known[key]?.session == session { known[key] = nil }
    }

    /// Records that the service has connected to an ingest.
    mutating func found() { hasIngest = true }

    /// Records that the ingest is gone. Its streams are missing until an ingest lists them again.
    mutating func lost(now: Int64) {
        hasIngest = false
        for key in known.keys where known[key]?.missingSince == nil {
            known[key]?.isConnected = false
            known[key]?.missingSince = now
        }
    }

    /// Returns the streams that have been missing for longer than their publishers may take to come back.
    func overdue(grace: Double, now: Int64) -> [(key: IngestStreamKey, session: String)] {
        let limit = Int64(grace * 1e9)
        return known.compactMap { key, stream in
            guard let since = stream.missingSince, now.saturatingDifference(since) >= limit else { return nil }
            return (key, stream.session)
        }
    }

    // MARK: - Events

    private func published(
        _ key: IngestStreamKey, _ session: String, _ step: HookSession.Step, _ url: String
    ) -> HookEvent {
        HookEvent(
            room: key.names.room,
            kind: .streamPublished(Publication(user: key.names.user, stream: key.names.stream, url: url)),
            session: HookSession(id: session, step: step))
    }

    private func ended(_ key: IngestStreamKey, _ session: String) -> HookEvent {
        HookEvent(
            room: key.names.room,
            kind: .streamUnpublished(user: key.names.user, stream: key.names.stream, reason: nil),
            session: HookSession(id: session, step: .ends))
    }

    private mutating func admit(_ event: HookEvent, _ now: Int64) -> RoomEvent? {
        guard case .pass(var event) = sessions.admit(event, of: Self.hook, peer: Self.peer, now: now) else {
            return nil
        }
        event.source = "\(Self.source)#\(run)"
        return event
    }
}
