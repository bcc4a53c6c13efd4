import Foundation
import MixModel
import Synchronization

/// The listeners of rooms' feeds, and the events that wait for them. Thread-safe; rooms without listeners cost nothing.
package final class RoomListeners: Sendable {
    /// An event of a feed: a message in the form that subscribers receive.
    package struct Event: Sendable {
        package var number: Int64
        package var topic: Topic
        /// JSON on one line.
        package var body: [UInt8]
    }

    private struct Followed {
        var listeners: [Int: RoomListener.Mailbox] = [:]
        /// The number since which no event has been missed.
        var since: Int64
        /// Number of the newest event.
        var last: Int64
    }
    private struct State {
        var rooms: [RoomID: Followed] = [:]
        /// Number of listeners to each app's rooms.
        var counts: [AppID: Int] = [:]
        var count = 0
        var listenerNumber = 0
    }

    /// Maximum number of listeners to one room. A quota limits the listeners to all rooms of an app.
    static let mostOfRoom = 64

    private let state = Mutex(State())
    /// The total number of listeners, which is read at every change of every room.
    private let count = Atomic(0)

    func hasListeners(_ room: RoomID) -> Bool {
        count.load(ordering: .relaxed) > 0 && state.withLock { $0.rooms[room] != nil }
    }

    package var listenerCount: Int { count.load(ordering: .relaxed) }

    /// Adds a listener, which receives events until it is released.
    ///
    /// - Throws: `OrchestratorError` if the room or its app has the maximum number of listeners.
    package func listen(
        to room: RoomID, numbers: NumberSource, quotas: Quotas = Quotas()
    ) throws(OrchestratorError) -> RoomListener {
        let mailbox = RoomListener.Mailbox()
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
        return RoomListener(mailbox) { [weak self] in self?.leave(room, number) }
    }

    /// Returns whether a client that has received everything up to `number` has missed nothing since.
    package func isUpToDate(_ number: Int64, of room: RoomID) -> Bool {
        state.withLock { state in
            guard let followed = state.rooms[room] else { return false }
            return followed.since <= number && followed.last <= number
        }
    }

    /// Sends events to the room's listeners without waiting for them.
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

    /// Ends the feeds of a deleted room.
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
            .unavailable, "too-many-listeners", "The room has too many listeners",
            detail: "\(room.name): at most \(mostOfRoom) listeners can follow a room; "
                + "a subscription (POST /v1/subscriptions) delivers the same")
    }
}

/// A client that follows a room. Releasing the listener ends its feed.
package final class RoomListener: Sendable {
    /// The events that wait for one listener.
    final class Mailbox: Sendable {
        private struct State {
            var events: [RoomListeners.Event] = []
            var isOverflown = false
        }
        /// Maximum number of waiting events. If more arrive, the listener gets the whole state again.
        static let size = 256

        private let state = Mutex(State())
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation

        init() { (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

        func put(_ events: [RoomListeners.Event]) {
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

        /// - Returns: The waiting events, or `nil` if some were lost.
        func take() -> [RoomListeners.Event]? {
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

    /// Yields whenever there may be events to take. Ends when the room is deleted. For a single reader.
    package var signals: AsyncStream<Void> { mailbox.signals }

    /// Returns the events since the last call, or `nil` if some were lost because there were too many.
    package func take() -> [RoomListeners.Event]? { mailbox.take() }

    /// Sends a signal without an event.
    package func wake() { mailbox.wake() }
}
