/// Decides how many messages may be in flight to one endpoint: a circuit breaker. Pure: times in, numbers out.
///
/// The outbox chooses the messages: it hands out only the oldest message of each room.
public struct EndpointMachine: Hashable, Sendable {
    /// The state of the circuit breaker.
    public enum Circuit: Hashable, Sendable {
        case closed
        /// Nothing is sent until this time, in nanoseconds.
        case open(until: Int64)
        /// One message is sent as a trial.
        case halfOpen
    }

    public private(set) var circuit = Circuit.closed
    /// Number of consecutive failures.
    public private(set) var failures = 0
    /// Number of messages in flight.
    public private(set) var underWay = 0
    /// Number of times the circuit has opened since the last success.
    private var openings = 0
    private let policy: DeliveryPolicy

    public init(policy: DeliveryPolicy) { self.policy = policy }

    /// Returns the number of further messages that may be sent now. `now` is in nanoseconds.
    public mutating func allowance(now: Int64) -> Int {
        if case .open(let until) = circuit, now >= until { circuit = .halfOpen }
        switch circuit {
        case .closed: return max(policy.concurrency - underWay, 0)
        case .open: return 0
        case .halfOpen: return underWay == 0 ? 1 : 0
        }
    }

    /// Time at which an open circuit must be checked again, in nanoseconds; `nil` while the circuit is not open.
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

    /// Records a failed message. `now` is in nanoseconds.
    ///
    /// - Parameter random: Random number in 0..<1, for the jitter.
    public mutating func failed(now: Int64, random: Double) {
        underWay -= 1
        failures += 1
        switch circuit {
        case .closed: if failures >= policy.failuresToOpen { open(now, random) }
        case .halfOpen: open(now, random)
        // The message was sent before the circuit opened.
        case .open: break
        }
    }

    /// Records a message that was neither delivered nor refused.
    public mutating func abandoned() { underWay -= 1 }

    private mutating func open(_ now: Int64, _ random: Double) {
        var length = policy.shortestBreak
        for _ in 0..<openings where length < policy.longestBreak { length *= 2 }
        length = min(length, policy.longestBreak) * (1 - policy.jitter + 2 * policy.jitter * random)
        openings += 1
        circuit = .open(until: now + Int64(length / .nanoseconds(1)))
    }
}
