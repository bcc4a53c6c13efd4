import EventSubscription
import Foundation
import MixModel
import TaskStore

/// Creates, changes and removes subscriptions of every kind, and reads the log of their messages. A change is stored
/// when its call returns. Thread-safe.
///
/// Errors have stable codes: `subscription-not-found`, `subscription-exists`, `too-many-subscriptions`,
/// `subscription-changed`, `url-refused` and `invalid-field` (`InputError`), `store-unavailable`.
package final class SubscriptionRegistry: Sendable {
    package let index: SubscriptionIndex
    package let store: any TaskStore
    private let allowed: AllowList
    private let quotas: AppQuotas
    /// Serializes changes, because limits count all subscriptions of an app.
    private let turnstile = Turnstile(limit: 1)

    /// Maximum number of subscriptions of one app, by kind.
    package static let most: [Subscription.Kind: Int] = [.own: 20, .roomEvents: 20, .taskEvents: 1]
    package static let mostRooms = 100
    package static let mostUsers = 100
    /// Age of the oldest log entries that can be requested, in seconds.
    package static let logAge: Double = 7 * 86_400

    package init(index: SubscriptionIndex, store: any TaskStore, allowed: AllowList, quotas: AppQuotas = AppQuotas()) {
        self.index = index
        self.store = store
        self.allowed = allowed
        self.quotas = quotas
    }

    /// Reads the stored subscriptions. Call once, before any change in a room.
    package func restore() async throws(StoreError) { index.load(try await store.subscriptions()) }

    /// Adopts changes made by other nodes of the cluster.
    func refresh() async throws(StoreError) {
        // Cancelled while waiting: another refresh will follow.
        do { try await turnstile.enter() } catch { return }
        defer { turnstile.leave() }
        let stored = try await store.subscriptions()
        if !index.hasJust(stored) { index.load(stored) }
    }

    // MARK: Reading

    /// Returns an app's subscriptions, in the order of their creation.
    package func subscriptions(of app: AppID, _ kinds: Set<Subscription.Kind>) -> [Subscription] {
        index.subscriptions(of: app, kinds).map(\.document)
    }

    /// - Throws: `OrchestratorError` when the app has no subscription with that identifier and of these kinds.
    package func subscription(
        _ id: SubscriptionID, of app: AppID, _ kinds: Set<Subscription.Kind> = Set(Subscription.Kind.allCases)
    ) throws(OrchestratorError) -> Versioned<Subscription> {
        guard let found = index.subscription(id), found.document.app == app, kinds.contains(found.document.kind) else {
            throw OrchestratorError.notFound(
                "subscription", id.rawValue, cure: "GET /v1/subscriptions lists the existing ones")
        }
        return found
    }

    /// Checks a URL to which messages are to be posted.
    ///
    /// - Throws: `InputError` when the URL cannot be used, or `callbacks.allow` does not list it.
    @discardableResult package func check(_ url: String, field: String) throws(InputError) -> StreamURL {
        try allowed.check(url, schemes: [.http, .https], field: field, setting: "callbacks.allow")
    }

    /// Returns delivery attempts, newest first, of one subscription or of all subscriptions of these kinds.
    ///
    /// - Parameters:
    ///   - time: Range in seconds since 1970.
    ///   - page: Number of the page, from 1.
    package func attempts(
        of app: AppID, _ kinds: Set<Subscription.Kind>, subscription: SubscriptionID? = nil,
        in time: ClosedRange<Double>, page: Int, size: Int
    ) async throws(OrchestratorError) -> (attempts: [LoggedAttempt], hasMore: Bool) {
        var ids = index.subscriptions(of: app, kinds).map(\.document.id)
        if let subscription { ids = try [self.subscription(subscription, of: app, kinds).document.id] }
        let (start, overflows) = (max(page, 1) - 1).multipliedReportingOverflow(by: size)
        guard !ids.isEmpty, !overflows else { return ([], false) }
        do {
            let found = try await store.attempts(of: ids, in: time, offset: start, limit: size + 1)
            return (Array(found.prefix(size)), found.count > size)
        } catch {
            throw OrchestratorError(error)
        }
    }

    // MARK: Changing

    package enum Creation: Hashable, Sendable {
        case made(Versioned<Subscription>)
        /// The subscription exists, because the same request was made before.
        case same(Versioned<Subscription>)

        package var subscription: Versioned<Subscription> {
            switch self {
            case .made(let subscription), .same(let subscription): subscription
            }
        }
    }

    /// Returns a new identifier of the form `sub-…`.
    package static func newID() -> SubscriptionID {
        SubscriptionID("sub-" + UUID().uuidString.lowercased().replacing("-", with: "").prefix(24))
    }

    /// Creates a subscription, with a new secret if it is of the service's own kind and has none. Its URL must have been
    /// checked.
    ///
    /// - Throws: `OrchestratorError` when the app has another subscription with that identifier, too many
    ///   subscriptions, another one of all rooms (`roomEvents`), or already has one (`taskEvents`).
    @discardableResult package func make(_ subscription: Subscription) async throws(OrchestratorError) -> Creation {
        try await enter()
        defer { turnstile.leave() }
        if let existing = index.subscription(subscription.id) {
            guard existing.document.isSameRequest(as: subscription) else { throw Self.exists(subscription.id) }
            return .same(existing)
        }
        let others = subscriptions(of: subscription.app, [subscription.kind])
        guard others.count < Self.most[subscription.kind] ?? 0 else { throw Self.tooMany(subscription) }
        let limit = quotas.of(subscription.app)[.subscriptions]
        guard subscriptions(of: subscription.app, Set(Subscription.Kind.allCases)).count < limit else {
            throw .overQuota(.subscriptions, limit, subscription.app)
        }
        try checkRooms(of: subscription, others)
        var new = subscription
        if new.kind == .own, new.secrets.isEmpty { new.secrets = [.init(text: WebhookSignature.newSecret())] }
        try await commit(.put(new, expected: 0))
        let made = Versioned(new, version: 1)
        index.put(made)
        return .made(made)
    }

    /// Changes a subscription.
    ///
    /// - Parameters:
    ///   - version: The version on which the change is based; `nil` = any.
    ///   - change: Makes the change and checks its URL. `modifiedAt` is set by this function.
    package func change(
        _ id: SubscriptionID, of app: AppID, _ kinds: Set<Subscription.Kind>, version: Int? = nil,
        _ change: (inout Subscription) throws(OrchestratorError) -> Void
    ) async throws(OrchestratorError) -> Versioned<Subscription> {
        try await enter()
        defer { turnstile.leave() }
        let old = try subscription(id, of: app, kinds)
        guard version ?? old.version == old.version else { throw Self.changed(id) }
        var new = old.document
        try change(&new)
        guard new != old.document else { return old }
        new.modifiedAt = wallClock()
        try checkRooms(of: new, subscriptions(of: app, [new.kind]).filter { $0.id != id })
        try await commit(.put(new, expected: old.version))
        let changed = Versioned(new, version: old.version + 1)
        index.put(changed)
        // The subscription may have been enabled, or may now have another URL.
        index.announce([id])
        return changed
    }

    /// Removes a subscription and drops its waiting messages.
    package func remove(
        _ id: SubscriptionID, of app: AppID, _ kinds: Set<Subscription.Kind>, version: Int? = nil
    ) async throws(OrchestratorError) {
        try await enter()
        defer { turnstile.leave() }
        let old = try subscription(id, of: app, kinds)
        guard version ?? old.version == old.version else { throw Self.changed(id) }
        try await commit(.delete(id: id.rawValue, expected: old.version))
        index.remove(id)
        index.announce([id])
    }

    private func enter() async throws(OrchestratorError) {
        do {
            try await turnstile.enter()
        } catch {
            // The caller no longer waits.
            throw .stopping
        }
    }

    private func commit(_ write: StoreChange.Write<Subscription>) async throws(OrchestratorError) {
        do {
            _ = try await store.commit(StoreChange(subscription: write))
        } catch {
            // The write may be stored despite the error: the stored state is authoritative.
            if let stored = try? await store.subscriptions() { index.load(stored) }
            throw OrchestratorError(error)
        }
    }

    /// Checks that an app has at most one subscription to all channels in the compatible format.
    private func checkRooms(
        of subscription: Subscription, _ others: [Subscription]
    ) throws(OrchestratorError) {
        guard subscription.kind == .roomEvents, subscription.rooms == nil, others.contains(where: { $0.rooms == nil })
        else { return }
        throw OrchestratorError(
            .conflict, "subscription-exists", "A subscription for all rooms already exists",
            detail: "an app may have one: change that one, or name a room")
    }

    // MARK: Refusals

    private static func exists(_ id: SubscriptionID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "subscription-exists", "The subscription id is already in use",
            detail: "\(id) was created from different content: change it, or use another Idempotency-Key",
            field: "Idempotency-Key")
    }

    private static func tooMany(_ subscription: Subscription) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-subscriptions", "The app has the maximum number of subscriptions",
            detail: "at most \(most[subscription.kind] ?? 0) of this kind: delete one, or change one")
    }

    private static func changed(_ id: SubscriptionID) -> OrchestratorError {
        OrchestratorError(
            .outdated, "subscription-changed", "The subscription is not in the expected state",
            detail: "\(id) has changed in the meantime: read it again and repeat the change")
    }
}
