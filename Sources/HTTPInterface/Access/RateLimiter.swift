import EncodedMedia
import Synchronization

/// A token bucket for each rate-limited client. Thread-safe; holds a bounded number of buckets.
final class RateLimiter: Sendable {
    enum Key: Hashable, Sendable {
        case token(Int)
        case address(String)
        case accessKey(String)
        /// A media server's hook, by name.
        case hook(String)
    }

    private let rate: Double
    private let buckets = Mutex<[Key: TokenBucket]>([:])

    static let mostBuckets = 10_000

    /// - Parameter rate: Requests or events per second. 0 means no limit.
    init(rate: Int) { self.rate = Double(rate) }

    /// Takes tokens from the client's bucket.
    ///
    /// - Returns: `nil` if the request is allowed, otherwise the whole seconds until it would be.
    func take(_ count: Int = 1, by key: Key, now: Int64 = MonotonicClock.now()) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock { buckets in
            if buckets[key] == nil, buckets.count >= Self.mostBuckets {
                buckets = buckets.filter { !$0.value.isFull(at: now) }
                // Even more addresses at once are an attack. Resetting all buckets keeps memory bounded.
                if buckets.count >= Self.mostBuckets { buckets.removeAll(keepingCapacity: true) }
            }
            let wait = buckets[key, default: TokenBucket(rate: rate, now: now)].take(Double(count), at: now)
            return wait.map { Int(($0 + 999_999_999) / 1_000_000_000) }
        }
    }

    /// Returns what `take` would return for one, without taking it.
    func wait(by key: Key, now: Int64 = MonotonicClock.now()) -> Int? {
        guard rate > 0 else { return nil }
        return buckets.withLock { buckets in
            // A copy, so that the bucket itself does not change.
            var bucket = buckets[key]
            return bucket?.take(1, at: now).map { Int(($0 + 999_999_999) / 1_000_000_000) }
        }
    }

    /// Current number of buckets.
    var count: Int { buckets.withLock { $0.count } }
}

/// The limits of one service. They apply per token, or per address if no tokens are configured.
package struct RateLimits: Sendable {
    let requests: RateLimiter
    let events: RateLimiter
    /// Limit of requests refused because they have no valid token. It slows down guessing.
    let failures: RateLimiter

    /// Creates limits from rates per second. 0 means no limit.
    package init(requests: Int, events: Int, failures: Int) {
        self.requests = RateLimiter(rate: requests)
        self.events = RateLimiter(rate: events)
        self.failures = RateLimiter(rate: failures)
    }

    static func key(_ context: OrchestratorContext) -> RateLimiter.Key {
        context.caller.token.map { .token($0) } ?? .address(context.peer)
    }

    /// Counts a request of a caller, by the token or, without one, the address.
    ///
    /// Has no typed `throws`: with two such calls in one asynchronous function, Swift 6.3's optimiser crashes.
    ///
    /// - Throws: `HTTPProblem` of status 429.
    func takeRequest(of caller: Caller, _ context: OrchestratorContext) throws {
        let key = caller.token.map { RateLimiter.Key.token($0) } ?? .address(context.peer)
        if let seconds = requests.take(by: key) {
            throw HTTPProblem.tooMany("requests", retryAfter: seconds, setting: "http.rate.requests")
        }
    }

    /// Counts the events against the caller's rate.
    ///
    /// - Throws: `HTTPProblem` of status 429.
    func take(events count: Int, _ context: OrchestratorContext) throws(HTTPProblem) {
        if let seconds = events.take(count, by: Self.key(context)) {
            throw .tooMany("events", retryAfter: seconds, setting: "http.rate.events")
        }
    }
}
