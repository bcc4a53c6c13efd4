/// Decides when one destination is connected, given up and tried again. Pure: every time is an argument, in ns of any
/// clock that only goes forward.
struct OutputMachine: Sendable {
    struct Policy: Hashable, Sendable {
        /// From the attempt to the first byte that the server took.
        var connectLimit: Int64 = 10_000_000_000
        /// How long bytes may wait without one being taken: a wedged connection reports nothing.
        var stallLimit: Int64 = 10_000_000_000
        var firstDelay: Int64 = 500_000_000
        var longestDelay: Int64 = 15_000_000_000
        /// A connection that has lasted this long makes the delays begin anew.
        var healthyAfter: Int64 = 30_000_000_000
    }

    enum State: Hashable, Sendable {
        case idle
        case connecting(since: Int64)
        /// `progress`: when a byte was last taken, or nothing waited.
        case live(since: Int64, progress: Int64)
        case waiting(until: Int64)
        /// Trying again cannot help.
        case failed
        case stopped
    }

    /// What the owner sees of the connection.
    struct Observation: Hashable, Sendable {
        /// Bytes of media that the connection has taken so far.
        var taken: Int64 = 0
        /// Whether something waits to be taken.
        var isWaiting = false
        /// The server's or the system's words; `nil` while nothing is wrong.
        var failure: String?
    }

    enum Action: Hashable, Sendable {
        case connect
        /// Lets go of the connection.
        case abandon
    }

    private(set) var state = State.idle
    private(set) var lastError: String?
    /// Connections that were live, but for the first.
    private(set) var reconnects = 0
    private let policy: Policy
    private var hasBeenLive = false
    private var failures = 0
    private var taken: Int64 = 0

    init(policy: Policy = Policy()) { self.policy = policy }

    mutating func start(at now: Int64) -> [Action] {
        guard state == .idle else { return [] }
        return connect(at: now)
    }

    /// To be called often, with what is seen of the connection, and at least at `deadline`.
    /// - Parameter jitter: 0…1, drawn by the caller: spreads the attempts of many outputs.
    mutating func observe(_ seen: Observation, at now: Int64, jitter: Double) -> [Action] {
        switch state {
        case .idle, .failed, .stopped:
            return []
        case .waiting(let until):
            return now >= until ? connect(at: now) : []
        case .connecting(let since):
            if let failure = seen.failure { return retreat(failure, at: now, jitter: jitter) }
            if seen.taken > 0 {
                if hasBeenLive { reconnects += 1 }
                hasBeenLive = true
                taken = seen.taken
                state = .live(since: now, progress: now)
            } else if now - since > policy.connectLimit {
                return retreat("no answer from the server", at: now, jitter: jitter)
            }
            return []
        case .live(let since, let progress):
            if now - since > policy.healthyAfter { failures = 0 }
            if let failure = seen.failure { return retreat(failure, at: now, jitter: jitter) }
            if seen.taken > taken || !seen.isWaiting {
                taken = seen.taken
                state = .live(since: since, progress: now)
            } else if now - progress > policy.stallLimit {
                return retreat("the server takes no more bytes", at: now, jitter: jitter)
            }
            return []
        }
    }

    /// The connection cannot even be tried, for a reason that stays.
    mutating func fail(_ reason: String) {
        lastError = reason
        state = .failed
    }

    mutating func stop() -> [Action] {
        defer { state = .stopped }
        switch state {
        case .connecting, .live: return [.abandon]
        case .idle, .waiting, .failed, .stopped: return []
        }
    }

    private mutating func connect(at now: Int64) -> [Action] {
        taken = 0
        state = .connecting(since: now)
        return [.connect]
    }

    /// Doubles from `firstDelay` to `longestDelay`, less up to a quarter by `jitter`.
    private mutating func retreat(_ reason: String, at now: Int64, jitter: Double) -> [Action] {
        lastError = reason
        let doubled = policy.firstDelay << Int64(min(failures, 20))
        let delay = Double(min(doubled, policy.longestDelay)) * (1 - 0.25 * min(max(jitter, 0), 1))
        failures += 1
        state = .waiting(until: now + Int64(delay))
        return [.abandon]
    }
}
