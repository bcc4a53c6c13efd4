import Foundation
import MixModel
import Synchronization

/// Who follows which room, and what they have still to be told. Thread-safe; rooms without listeners cost nothing.
final class RoomFeeds: Sendable {
    /// Something that a listener is sent: a message as subscribers get it.
    struct Event: Sendable {
        var number: Int64
        var topic: Topic
        /// JSON in one line.
        var body: [UInt8]
    }

    private struct Followed {
        var listeners: [Int: FeedListener.Mailbox] = [:]
        /// From here on nothing was missed.
        var since: Int64
        /// Of the newest event.
        var last: Int64
    }
    private struct State {
        var rooms: [RoomID: Followed] = [:]
        /// Listeners of each app's rooms.
        var counts: [AppID: Int] = [:]
        var count = 0
        var listenerNumber = 0
    }

    /// Listeners of one room. Those of an app's rooms are bounded by its quota.
    static let mostOfRoom = 64

    private let state = Mutex(State())
    /// Read at every change of every room.
    private let count = Atomic(0)

    func hasListeners(_ room: RoomID) -> Bool {
        count.load(ordering: .relaxed) > 0 && state.withLock { $0.rooms[room] != nil }
    }

    var listenerCount: Int { count.load(ordering: .relaxed) }

    /// Takes part from now on, until the listener is let go of.
    ///
    /// - Throws: When the room or its app has as many listeners as it may have.
    func listen(
        to room: RoomID, numbers: NumberSource, quotas: Quotas = Quotas()
    ) throws(OrchestratorError) -> FeedListener {
        let mailbox = FeedListener.Mailbox()
        let (app, limit) = (room.app, quotas[.feeds])
        let result = state.withLock { state -> Result<Int, OrchestratorError> in
            var followed = state.rooms[room] ?? Followed(since: numbers.next(), last: 0)
            guard followed.listeners.count < Self.mostOfRoom else { return .failure(Self.tooMany(room)) }
            guard state.counts[app] ?? 0 < limit else { return .failure(.overQuota(.feeds, limit, app)) }
            state.count += 1
            state.counts[app, default: 0] += 1
            state.listenerNumber += 1
            followed.listeners[state.listenerNumber] = mailbox
            state.rooms[room] = followed
            count.store(state.count, ordering: .relaxed)
            return .success(state.listenerNumber)
        }
        let number = try result.get()
        return FeedListener(mailbox) { [weak self] in self?.leave(room, number) }
    }

    /// Whether somebody who has seen everything up to `number` has missed nothing since.
    func isUpToDate(_ number: Int64, of room: RoomID) -> Bool {
        state.withLock { state in
            guard let followed = state.rooms[room] else { return false }
            return followed.since <= number && followed.last <= number
        }
    }

    /// Tells the room's listeners; never waits for them.
    func publish(_ occurrences: [Occurrence], of room: RoomID, numbers: NumberSource) {
        guard hasListeners(room) else { return }
        let events = occurrences.map { occurrence in
            let number = numbers.next()
            let event = WebhookEvent(occurrence, id: "feed_\(number)", number: number)
            return Event(number: number, topic: occurrence.topic, body: Array(jsonBytes(event).readableBytesView))
        }
        state.withLock { state in
            guard let last = events.last else { return }
            state.rooms[room]?.last = last.number
            for mailbox in state.rooms[room]?.listeners.values ?? [:].values { mailbox.put(events) }
        }
    }

    /// The room is gone: its feeds end.
    func end(_ room: RoomID) {
        state.withLock { state in
            for mailbox in state.rooms[room]?.listeners.values ?? [:].values { mailbox.end() }
        }
    }

    private func leave(_ room: RoomID, _ number: Int) {
        state.withLock { state in
            guard state.rooms[room]?.listeners.removeValue(forKey: number) != nil else { return }
            state.count -= 1
            let others = (state.counts[room.app] ?? 1) - 1
            state.counts[room.app] = others == 0 ? nil : others
            if state.rooms[room]?.listeners.isEmpty == true { state.rooms[room] = nil }
            count.store(state.count, ordering: .relaxed)
        }
    }

    private static func tooMany(_ room: RoomID) -> OrchestratorError {
        OrchestratorError(
            .serviceUnavailable, "too-many-listeners", "Too many follow the room already",
            detail: "\(room.name): at most \(mostOfRoom) can follow a room; "
                + "a subscription (POST /v1/subscriptions) tells the same")
    }
}

/// One who follows a room. Letting go of it ends its part.
final class FeedListener: Sendable {
    /// What waits for one listener.
    final class Mailbox: Sendable {
        private struct State {
            var events: [RoomFeeds.Event] = []
            var isOverflown = false
        }
        /// Beyond these the listener gets the whole state anew.
        static let size = 256

        private let state = Mutex(State())
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation

        init() { (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

        func put(_ events: [RoomFeeds.Event]) {
            state.withLock { state in
                guard !state.isOverflown else { return }
                guard state.events.count + events.count <= Self.size else {
                    state.events = []
                    state.isOverflown = true
                    return
                }
                state.events += events
            }
            signal.yield()
        }

        /// - Returns: `nil` when something was lost.
        func take() -> [RoomFeeds.Event]? {
            state.withLock { state in
                defer { state = State() }
                return state.isOverflown ? nil : state.events
            }
        }

        func wake() { signal.yield() }
        func end() { signal.finish() }
    }

    private let mailbox: Mailbox
    private let leave: @Sendable () -> Void

    init(_ mailbox: Mailbox, leave: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.leave = leave
    }

    deinit {
        leave()
        mailbox.end()
    }

    /// One whenever there may be something to take; ends when the room is gone. For one reader.
    var signals: AsyncStream<Void> { mailbox.signals }

    /// What came since the last call; `nil` when there was too much of it.
    func take() -> [RoomFeeds.Event]? { mailbox.take() }

    /// Makes a signal come.
    func wake() { mailbox.wake() }
}
