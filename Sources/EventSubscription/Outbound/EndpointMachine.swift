/// Decides how many messages may be on their way to one endpoint: a circuit breaker. Pure: times in, numbers out.
///
/// Which messages those are is the outbox's matter: it hands out the oldest of each room alone.
public struct EndpointMachine: Hashable, Sendable {
    /// Whether anything is sent.
    public enum Circuit: Hashable, Sendable {
        case closed
        /// Nothing is sent until then, in ns.
        case open(until: Int64)
        /// One message is sent to try it.
        case halfOpen
    }

    public private(set) var circuit = Circuit.closed
    /// Failures one after another.
    public private(set) var failures = 0
    /// On their way.
    public private(set) var underWay = 0
    /// How often the circuit opened since the last success.
    private var openings = 0
    private let policy: DeliveryPolicy

    public init(policy: DeliveryPolicy) { self.policy = policy }

    /// How many more may be sent now. `now` in ns.
    public mutating func allowance(now: Int64) -> Int {
        if case .open(let until) = circuit, now >= until { circuit = .halfOpen }
        switch circuit {
        case .closed: return max(policy.concurrency - underWay, 0)
        case .open: return 0
        case .halfOpen: return underWay == 0 ? 1 : 0
        }
    }

    /// When to look again although nothing happens, in ns; `nil` while the circuit is not open.
    public var reopensAt: Int64? {
        if case .open(let until) = circuit { until } else { nil }
    }

    public mutating func began(_ count: Int = 1) { underWay += count }

    public mutating func succeeded() {
        underWay -= 1
        failures = 0
        openings = 0
        circuit = .closed
    }

    /// - Parameter random: 0..<1.
    public mutating func failed(now: Int64, random: Double) {
        underWay -= 1
        failures += 1
        switch circuit {
        case .closed: if failures >= policy.failuresToOpen { open(now, random) }
        case .halfOpen: open(now, random)
        // Was sent before it opened.
        case .open: break
        }
    }

    /// It was neither delivered nor refused.
    public mutating func abandoned() { underWay -= 1 }

    private mutating func open(_ now: Int64, _ random: Double) {
        var length = policy.shortestBreak
        for _ in 0..<openings where length < policy.longestBreak { length *= 2 }
        length = min(length, policy.longestBreak) * (1 - policy.jitter + 2 * policy.jitter * random)
        openings += 1
        circuit = .open(until: now + Int64(length / .nanoseconds(1)))
    }
}
