import Foundation
import MixModel
import Synchronization
import TaskStore

/// The stored subscriptions, in memory because every room's changes need them. Thread-safe.
///
/// It makes the messages that rooms store with a change, and announces stored messages to the delivery engine.
package final class SubscriptionIndex: Sendable {
    fileprivate struct State {
        var subscriptions: [SubscriptionID: Versioned<Subscription>] = [:]
        var byApp: [AppID: [Subscription]] = [:]
        var onStored: (@Sendable (Set<SubscriptionID>) -> Void)?
    }
    private let state = Mutex(State())
    /// Number of subscriptions, which is read at every event. Most services have none.
    private let count = Atomic(0)
    private let numbers: NumberSource

    package init(numbers: NumberSource = NumberSource()) { self.numbers = numbers }

    /// Whether there are no subscriptions.
    var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Returns whether the app has an enabled subscription.
    func tells(of app: AppID) -> Bool {
        guard !isEmpty else { return false }
        return state.withLock { $0.byApp[app]?.contains(where: \.isEnabled) == true }
    }

    // MARK: Messages

    /// Returns the messages about these occurrences, one for each subscription that wants it.
    func messages(for occurrences: [Occurrence]) -> [OutboxMessage] {
        guard !isEmpty, let app = occurrences.first?.room.app else { return [] }
        let subscriptions = state.withLock { $0.byApp[app] ?? [] }
        guard !subscriptions.isEmpty else { return [] }
        var messages: [OutboxMessage] = []
        for occurrence in occurrences {
            let wanting = subscriptions.filter { $0.wants(occurrence) }
            guard !wanting.isEmpty else { continue }
            let number = numbers.next()
            let id = Self.messageID()
            for subscription in wanting {
                guard let body = WebhookBody.bytes(of: occurrence, id: id, number: number, for: subscription) else {
                    continue
                }
                messages.append(
                    OutboxMessage(
                        id: id, subscription: subscription.id, lane: occurrence.room.name, topic: occurrence.topic,
                        body: body))
            }
        }
        return messages
    }

    /// Returns a test message for this subscription only, regardless of its topics.
    package func testMessage(for subscription: Subscription) -> OutboxMessage? {
        let occurrence = Occurrence(
            room: RoomID(app: subscription.app, name: subscription.rooms?.first ?? "test"), at: wallClock(), kind: .test
        )
        let id = Self.messageID()
        return WebhookBody.bytes(of: occurrence, id: id, number: numbers.next(), for: subscription).map { body in
            // It has its own lane, so that it does not wait for a room's messages.
            OutboxMessage(id: id, subscription: subscription.id, lane: "", topic: .test, body: body)
        }
    }

    private static func messageID() -> String { "msg_" + UUID.quick().uuidString.lowercased().replacing("-", with: "") }

    /// Announces messages to the engine. Call when they are stored.
    package func stored(_ messages: [OutboxMessage]) {
        guard !messages.isEmpty else { return }
        announce(Set(messages.map(\.subscription)))
    }

    /// Notifies the engine that messages may be due for these subscriptions.
    package func announce(_ ids: Set<SubscriptionID>) {
        state.withLock { $0.onStored }?(ids)
    }

    /// - Parameter onStored: Called on any thread; must return quickly.
    func connect(_ onStored: (@Sendable (Set<SubscriptionID>) -> Void)?) {
        state.withLock { $0.onStored = onStored }
    }

    // MARK: Subscriptions

    func subscription(_ id: SubscriptionID) -> Versioned<Subscription>? {
        state.withLock { $0.subscriptions[id] }
    }

    /// Returns an app's subscriptions, ordered by the time of their creation.
    func subscriptions(of app: AppID, _ kinds: Set<Subscription.Kind>) -> [Versioned<Subscription>] {
        state.withLock { $0.subscriptions.values.filter { $0.document.app == app && kinds.contains($0.document.kind) } }
            .sorted { ($0.document.createdAt, $0.document.id) < ($1.document.createdAt, $1.document.id) }
    }

    package var counts: [Subscription.Kind: Int] {
        state.withLock { state in
            state.subscriptions.values.reduce(into: [:]) { $0[$1.document.kind, default: 0] += 1 }
        }
    }

    /// Returns whether these are all of the subscriptions, in these versions.
    func hasJust(_ subscriptions: [Versioned<Subscription>]) -> Bool {
        state.withLock { state in
            state.subscriptions.count == subscriptions.count
                && subscriptions.allSatisfy { state.subscriptions[$0.document.id]?.version == $0.version }
        }
    }

    /// Replaces all subscriptions.
    func load(_ subscriptions: [Versioned<Subscription>]) {
        let known = Set(subscriptions.map(\.document.id))
        for id in state.withLock({ $0.subscriptions.keys.filter { !known.contains($0) } }) { remove(id) }
        for subscription in subscriptions { put(subscription) }
    }

    func put(_ subscription: Versioned<Subscription>) {
        state.withLock { state in
            state.subscriptions[subscription.document.id] = subscription
            state.index(subscription.document.app)
        }
        count.store(state.withLock { $0.subscriptions.count }, ordering: .relaxed)
    }

    func remove(_ id: SubscriptionID) {
        state.withLock { state in
            guard let removed = state.subscriptions.removeValue(forKey: id) else { return }
            state.index(removed.document.app)
        }
        count.store(state.withLock { $0.subscriptions.count }, ordering: .relaxed)
    }
}

extension SubscriptionIndex.State {
    fileprivate mutating func index(_ app: AppID) {
        let own = subscriptions.values.map(\.document).filter { $0.app == app }
        byApp[app] = own.isEmpty ? nil : own.sorted { $0.id < $1.id }
    }
}
