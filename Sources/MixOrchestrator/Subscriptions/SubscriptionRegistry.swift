import EventSubscription
import Foundation
import MixModel
import TaskStore

/// Makes, changes and removes subscriptions of every kind, and tells what became of their messages. What returns is
/// stored. Thread-safe.
///
/// Errors have stable codes: `subscription-not-found`, `subscription-exists`, `too-many-subscriptions`,
/// `subscription-changed`, `url-refused` and `invalid-field` (`InputError`), `store-unavailable`.
final class SubscriptionRegistry: Sendable {
    let book: SubscriptionBook
    let store: any TaskStore
    private let allowed: AllowList
    private let quotas: AppQuotas
    /// Changes are made one after another: limits are counted over all of an app's.
    private let turnstile = Turnstile(limit: 1)

    /// Of one app and kind.
    static let most: [Subscription.Kind: Int] = [.own: 20, .roomEvents: 20, .taskEvents: 1]
    static let mostRooms = 100
    static let mostUsers = 100
    /// How far back the log can be asked for, in seconds.
    static let logAge: Double = 7 * 86_400

    init(book: SubscriptionBook, store: any TaskStore, allowed: AllowList, quotas: AppQuotas = AppQuotas()) {
        self.book = book
        self.store = store
        self.allowed = allowed
        self.quotas = quotas
    }

    /// Reads what is stored. Call once, before anything happens in rooms.
    func restore() async throws(StoreError) { book.load(try await store.subscriptions()) }

    // MARK: Reading

    /// Those of an app, in the order in which they were made.
    func subscriptions(of app: AppID, _ kinds: Set<Subscription.Kind>) -> [Subscription] {
        book.subscriptions(of: app, kinds).map(\.document)
    }

    /// - Throws: When the app has none of that id and these kinds.
    func subscription(
        _ id: SubscriptionID, of app: AppID, _ kinds: Set<Subscription.Kind> = Set(Subscription.Kind.allCases)
    ) throws(OrchestratorError) -> Versioned<Subscription> {
        guard let found = book.subscription(id), found.document.app == app, kinds.contains(found.document.kind) else {
            throw OrchestratorError.notFound(
                "subscription", id.rawValue, cure: "GET /v1/subscriptions lists those there are")
        }
        return found
    }

    /// A URL that messages may be posted to.
    ///
    /// - Throws: `InputError` when it cannot be used, or `callbacks.allow` does not name it.
    @discardableResult func check(_ url: String, field: String) throws(InputError) -> StreamURL {
        try allowed.check(url, schemes: [.http, .https], field: field, setting: "callbacks.allow")
    }

    /// Attempts to deliver, newest first, of all subscriptions of these kinds or of one.
    ///
    /// - Parameters:
    ///   - time: Seconds since 1970.
    ///   - page: 1 for the first.
    func attempts(
        of app: AppID, _ kinds: Set<Subscription.Kind>, subscription: SubscriptionID? = nil,
        in time: ClosedRange<Double>, page: Int, size: Int
    ) async throws(OrchestratorError) -> (attempts: [LoggedAttempt], hasMore: Bool) {
        var ids = book.subscriptions(of: app, kinds).map(\.document.id)
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

    enum Creation: Hashable, Sendable {
        case made(Versioned<Subscription>)
        /// It was there: the same request came before.
        case same(Versioned<Subscription>)

        var subscription: Versioned<Subscription> {
            switch self {
            case .made(let subscription), .same(let subscription): subscription
            }
        }
    }

    /// A new id, as in `sub-…`.
    static func newID() -> SubscriptionID {
        SubscriptionID("sub-" + UUID().uuidString.lowercased().replacing("-", with: "").prefix(24))
    }

    /// The URL has to be checked before.
    ///
    /// - Throws: When the app has another of that id, too many, another of all rooms (`roomEvents`) or one already
    ///   (`taskEvents`).
    @discardableResult func make(_ subscription: Subscription) async throws(OrchestratorError) -> Creation {
        try await enter()
        defer { turnstile.leave() }
        if let existing = book.subscription(subscription.id) {
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
        try await commit(.put(subscription, expected: 0))
        let made = Versioned(subscription, version: 1)
        book.put(made)
        return .made(made)
    }

    /// - Parameters:
    ///   - version: What the change is based on; `nil` = whatever there is.
    ///   - change: URLs have to be checked in it. Its `modifiedAt` is set here.
    func change(
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
        book.put(changed)
        // It may have been switched on, or lead elsewhere now.
        book.announce([id])
        return changed
    }

    /// What waits for it is dropped.
    func remove(
        _ id: SubscriptionID, of app: AppID, _ kinds: Set<Subscription.Kind>, version: Int? = nil
    ) async throws(OrchestratorError) {
        try await enter()
        defer { turnstile.leave() }
        let old = try subscription(id, of: app, kinds)
        guard version ?? old.version == old.version else { throw Self.changed(id) }
        try await commit(.delete(id: id.rawValue, expected: old.version))
        book.remove(id)
        book.announce([id])
    }

    private func enter() async throws(OrchestratorError) {
        do {
            try await turnstile.enter()
        } catch {
            // Whoever asked does not wait any more.
            throw .stopping
        }
    }

    private func commit(_ write: StoreChange.Write<Subscription>) async throws(OrchestratorError) {
        do {
            _ = try await store.commit(StoreChange(subscription: write))
        } catch {
            // Whether it is stored may be in doubt: what is stored counts.
            if let stored = try? await store.subscriptions() { book.load(stored) }
            throw OrchestratorError(error)
        }
    }

    /// A channel's callbacks of the compatible format come from one subscription of all channels at most.
    private func checkRooms(
        of subscription: Subscription, _ others: [Subscription]
    ) throws(OrchestratorError) {
        guard subscription.kind == .roomEvents, subscription.rooms == nil, others.contains(where: { $0.rooms == nil })
        else { return }
        throw OrchestratorError(
            .conflict, "subscription-exists", "There is a subscription of all rooms already",
            detail: "an app has one at most: change that one, or name a room")
    }

    // MARK: Refusals

    private static func exists(_ id: SubscriptionID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "subscription-exists", "There is another subscription of this id",
            detail: "\(id) was made from another content: change it, or use another Idempotency-Key",
            field: "Idempotency-Key")
    }

    private static func tooMany(_ subscription: Subscription) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-subscriptions", "The app has as many subscriptions as it can have",
            detail: "at most \(most[subscription.kind] ?? 0) of this kind: delete one, or change one")
    }

    private static func changed(_ id: SubscriptionID) -> OrchestratorError {
        OrchestratorError(
            .preconditionFailed, "subscription-changed", "The subscription is not as expected",
            detail: "\(id) was changed meanwhile: read it again and repeat the change")
    }
}
