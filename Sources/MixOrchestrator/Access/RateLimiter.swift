import Synchronization

/// A bucket for everybody who is limited. Thread-safe; holds a bounded number of buckets.
final class RateLimiter: Sendable {
    enum Key: Hashable, Sendable {
        case token(Int)
        case address(String)
        case accessKey(String)
    }

    private let rate: Double
    private let buckets = Mutex<[Key: TokenBucket]>([:])

    static let mostBuckets = 10_000

    /// - Parameter rate: Per second; 0 = no limit.
    init(rate: Int) { self.rate = Double(rate) }

    /// - Returns: Nothing when it is allowed, otherwise after how many whole seconds it would be.
    func take(_ count: Int = 1, by key: Key, now: Int64 = MonotonicClock.now()) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock { buckets in
            if buckets[key] == nil, buckets.count >= Self.mostBuckets {
                buckets = buckets.filter { !$0.value.isFull(at: now) }
                // More addresses than that at once are an attack: it may begin anew, memory may not grow.
                if buckets.count >= Self.mostBuckets { buckets.removeAll(keepingCapacity: true) }
            }
            let wait = buckets[key, default: TokenBucket(rate: rate, now: now)].take(Double(count), at: now)
            return wait.map { Int(($0 + 999_999_999) / 1_000_000_000) }
        }
    }

    /// Takes nothing: what `take` would answer for one.
    func wait(by key: Key, now: Int64 = MonotonicClock.now()) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock { buckets in
            // A copy pays.
            var bucket = buckets[key]
            return bucket?.take(1, at: now).map { Int(($0 + 999_999_999) / 1_000_000_000) }
        }
    }

    /// Buckets that are held now.
    var count: Int { buckets.withLock { $0.count } }
}

/// The limits of one service. By token where there are any, otherwise by address.
struct RateLimits: Sendable {
    let requests: RateLimiter
    let events: RateLimiter
    /// Of requests that are refused for want of a good token: guessing is slow.
    let failures: RateLimiter

    /// Per second each; 0 = no limit.
    init(requests: Int, events: Int, failures: Int) {
        self.requests = RateLimiter(rate: requests)
        self.events = RateLimiter(rate: events)
        self.failures = RateLimiter(rate: failures)
    }

    static func key(_ context: OrchestratorContext) -> RateLimiter.Key {
        context.caller.token.map { .token($0) } ?? .address(context.peer)
    }

    /// - Throws: `OrchestratorError` of status 429.
    func take(events count: Int, _ context: OrchestratorContext) throws(OrchestratorError) {
        if let seconds = events.take(count, by: Self.key(context)) {
            throw .tooMany("events", retryAfter: seconds, setting: "http.rate.events")
        }
    }
}
