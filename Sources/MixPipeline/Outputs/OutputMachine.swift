import MixModel

/// Decides when one destination is connected, given up and tried again. Pure: every time is an argument, in ns of any
/// clock that only goes forward.
///
/// Three kinds of failure have delays of their own. The network is asked again at least twice a second, so that a server that
/// is back is found within a second. A refusal is repeated slowly. Connections that were live and broke soon after are
/// made slowly too: each one may be a broadcast of its own at the provider.
struct OutputMachine: Sendable {
    /// The first delay, doubled with each failure up to the longest.
    struct Delays: Hashable, Sendable {
        var first: Int64
        var longest: Int64

        func after(_ failures: Int) -> Int64 { min(first << Int64(min(max(failures, 0), 20)), longest) }
    }

    struct Policy: Hashable, Sendable {
        /// From the attempt to the server's consent.
        var connectLimit: Int64 = 10_000_000_000
        /// How long bytes may wait without one being taken: a wedged connection reports nothing. Longer than the pauses
        /// that lost packets make (TCP repeats one after 0.2, 0.6, 1.4 and 3.0 s), and short enough to be noticed within
        /// 5 s of the freeze: the buffers of the peer's machine fill first, 1.7 s at 300 kbit/s on loopback.
        var stallLimit: Int64 = 3_200_000_000
        var network = Delays(first: 100_000_000, longest: 500_000_000)
        var address = Delays(first: 250_000_000, longest: 5_000_000_000)
        var refusal = Delays(first: 1_000_000_000, longest: 30_000_000_000)
        /// A connection that has lasted this long makes all delays begin anew.
        var healthyAfter: Int64 = 10_000_000_000
    }

    enum State: Hashable, Sendable {
        case idle
        case connecting(since: Int64)
        /// `progress`: when a byte was last taken, or nothing waited.
        case live(since: Int64, progress: Int64)
        case waiting(until: Int64)
        /// Not tried any more by itself.
        case failed
        case stopped
    }

    /// What the owner sees of the connection.
    struct Observation: Hashable, Sendable {
        /// The server has agreed to take the stream.
        var hasBegun = false
        /// Bytes of media that the connection has taken so far.
        var taken: Int64 = 0
        /// Whether something waits to be taken.
        var isWaiting = false
        /// Since when a server has not confirmed that it reads although its machine takes the bytes; `nil` = all is well,
        /// or nobody can tell.
        var silentSince: Int64?
        /// `nil` while nothing is wrong.
        var fault: OutputFault?
    }

    enum Action: Hashable, Sendable {
        case connect
        /// Lets go of the connection.
        case abandon
    }

    private(set) var state = State.idle
    private(set) var lastFault: OutputFault?
    /// Connections that were live, but for the first.
    private(set) var reconnects = 0
    /// When it is given up; may be changed at any time.
    var retry: OutputRetry?
    private let policy: Policy
    private var hasBeenLive = false
    /// In a row, by the nature of the fault.
    private var failures: [OutputFault.Nature: Int] = [:]
    /// Connections in a row that were live for less than `healthyAfter`.
    private var briefLives = 0
    /// Attempts in a row that failed, of whatever nature.
    private var attempts = 0
    /// When it was live last, or began.
    private var missingSince: Int64 = 0
    private var taken: Int64 = 0

    init(policy: Policy = Policy(), retry: OutputRetry? = nil) {
        self.policy = policy
        self.retry = retry
    }

    /// When `observe` has to be called at the latest; `nil` = as often as the owner looks anyway.
    var deadline: Int64? {
        if case .waiting(let until) = state { until } else { nil }
    }

    mutating func start(at now: Int64) -> [Action] {
        guard state == .idle else { return [] }
        missingSince = now
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
            if let fault = seen.fault { return retreat(fault, at: now, jitter: jitter) }
            if seen.taken > 0 {
                goLive(seen, at: now)
            } else if now - since > policy.connectLimit, !seen.hasBegun || seen.isWaiting {
                return retreat(OutputFault(.timeout, "no answer from the server"), at: now, jitter: jitter)
            }
            return []
        case .live(let since, let progress):
            missingSince = now
            if now - since > policy.healthyAfter { forgive() }
            if let fault = seen.fault { return lose(fault, since, at: now, jitter: jitter) }
            if let silent = seen.silentSince, now - silent > policy.stallLimit {
                return lose(Self.deaf, since, at: now, jitter: jitter)
            }
            if seen.taken > taken || !seen.isWaiting {
                taken = seen.taken
                state = .live(since: since, progress: now)
            } else if now - progress > policy.stallLimit {
                return lose(Self.wedged, since, at: now, jitter: jitter)
            }
            return []
        }
    }

    /// Somebody asks for an attempt now: of a destination that was given up, or that waits.
    mutating func retryNow(at now: Int64) -> [Action] {
        switch state {
        case .failed, .waiting: break
        case .idle, .connecting, .live, .stopped: return []
        }
        guard lastFault?.nature != .lasting else { return [] }
        forgive()
        missingSince = now
        return connect(at: now)
    }

    /// The connection cannot even be tried, for a reason that stays.
    mutating func fail(_ fault: OutputFault) {
        lastFault = fault
        state = .failed
    }

    mutating func stop() -> [Action] {
        defer { state = .stopped }
        switch state {
        case .connecting, .live: return [.abandon]
        case .idle, .waiting, .failed, .stopped: return []
        }
    }

    private static let wedged = OutputFault(.wedged, "the server takes no more bytes")
    private static let deaf = OutputFault(
        .wedged, "the server reads no more: its machine takes bytes, but it has stopped acknowledging them")

    private mutating func connect(at now: Int64) -> [Action] {
        taken = 0
        state = .connecting(since: now)
        return [.connect]
    }

    private mutating func goLive(_ seen: Observation, at now: Int64) {
        if hasBeenLive { reconnects += 1 }
        hasBeenLive = true
        failures = [:]
        taken = seen.taken
        missingSince = now
        state = .live(since: now, progress: now)
    }

    private mutating func forgive() {
        failures = [:]
        briefLives = 0
        attempts = 0
    }

    private mutating func lose(_ fault: OutputFault, _ since: Int64, at now: Int64, jitter: Double) -> [Action] {
        var fault = fault
        let lived = now - since
        briefLives = lived < policy.healthyAfter ? briefLives + 1 : 0
        if lived < 2_000_000_000, fault.code == .connectionLost {
            fault.words += ", soon after it took the stream: is the stream key right?"
        }
        return retreat(fault, at: now, jitter: jitter)
    }

    /// Less up to a quarter of the delay by `jitter`.
    private mutating func retreat(_ fault: OutputFault, at now: Int64, jitter: Double) -> [Action] {
        attempts += 1
        lastFault = fault
        if fault.nature == .lasting {
            state = .failed
            return [.abandon]
        }
        if let reason = givenUp(at: now) {
            lastFault?.words = "given up \(reason): \(fault.words)"
            state = .failed
            return [.abandon]
        }
        let count = failures[fault.nature, default: 0]
        failures[fault.nature] = count + 1
        var delay =
            switch fault.nature {
            case .network, .lasting: policy.network.after(count)
            case .address: policy.address.after(count)
            case .refusal: policy.refusal.after(count)
            }
        // The first time is nobody's fault.
        if case .live = state, briefLives > 1 { delay = policy.refusal.after(briefLives - 2) }
        var until = now + Int64(Double(delay) * (1 - 0.25 * min(max(jitter, 0), 1)))
        if let limit = retry?.maxSeconds { until = min(until, missingSince + Int64(limit) * 1_000_000_000) }
        state = .waiting(until: until)
        return [.abandon]
    }

    /// Why there is no other attempt; `nil` = there is one.
    private func givenUp(at now: Int64) -> String? {
        if let most = retry?.maxAttempts, attempts >= most {
            return most == 1 ? "after one attempt" : "after \(most) attempts"
        }
        if let limit = retry?.maxSeconds, now - missingSince >= Int64(limit) * 1_000_000_000 {
            return "after \(limit) s"
        }
        return nil
    }
}
