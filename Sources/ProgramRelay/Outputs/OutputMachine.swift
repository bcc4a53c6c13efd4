import MixModel

/// Decides when a destination is connected, given up and retried.
///
/// Pure: every time is an argument, in ns of any clock that only goes forward.
///
/// Three kinds of failure have their own delays. After a network failure the destination is retried at least twice a
/// second, so that a server that returns is found within a second. After a refusal it is retried slowly, and also after
/// a connection that broke soon after it became live, because each connection may be a separate broadcast at the
/// provider.
struct OutputMachine: Sendable {
    /// Delays before the next attempt, in ns. The first one doubles with each failure, up to the longest.
    struct Delays: Hashable, Sendable {
        var first: Int64
        var longest: Int64

        func after(_ failures: Int) -> Int64 { min(first << Int64(min(max(failures, 0), 20)), longest) }
    }

    struct Policy: Hashable, Sendable {
        /// Time from the start of an attempt within which the server must accept the stream and take the first bytes, in
        /// ns. If the program begins after the server's consent, the time counts from there.
        var connectLimit: Int64 = 10_000_000_000
        /// Longest time for which bytes may wait without one being taken, in ns. A wedged connection reports no error.
        ///
        /// The limit is longer than the pauses that lost packets cause (TCP retransmits after 0.2, 0.6, 1.4 and 3.0 s),
        /// and short enough for a freeze to be noticed within 5 s: the buffers of the peer's machine fill first, which
        /// takes 1.7 s at 300 kbit/s on loopback.
        var stallLimit: Int64 = 3_200_000_000
        var network = Delays(first: 100_000_000, longest: 500_000_000)
        var address = Delays(first: 250_000_000, longest: 5_000_000_000)
        var refusal = Delays(first: 1_000_000_000, longest: 30_000_000_000)
        /// Time after which a live connection resets all delays, in ns.
        var healthyAfter: Int64 = 10_000_000_000
    }

    enum State: Hashable, Sendable {
        case idle
        case connecting(since: Int64)
        /// The server accepts the stream. `progress` is the last time at which a byte was taken or none waited.
        case live(since: Int64, progress: Int64)
        case waiting(until: Int64)
        /// Given up; tried again only on request.
        case failed
        case stopped
    }

    /// The observed state of the connection.
    struct Observation: Hashable, Sendable {
        /// Whether the server has accepted the stream.
        var hasBegun = false
        /// Bytes of media that the connection has taken so far.
        var taken: Int64 = 0
        /// Whether bytes wait to be taken.
        var isWaiting = false
        /// Time, in ns, since which the server has not acknowledged data, although its machine takes the bytes; `nil`
        /// if the server reads, or if that is unknown.
        var silentSince: Int64?
        /// The connection's failure; `nil` while there is none.
        var fault: OutputFault?
    }

    enum Action: Hashable, Sendable {
        case connect
        /// Gives up the connection.
        case abandon
    }

    private(set) var state = State.idle
    private(set) var lastFault: OutputFault?
    /// Number of live connections after the first.
    private(set) var reconnects = 0
    /// Limits after which the destination is given up. May be changed at any time.
    var retry: OutputRetry?
    private let policy: Policy
    private var hasBeenLive = false
    /// Consecutive failures, by their nature.
    private var failures: [OutputFault.Nature: Int] = [:]
    /// Consecutive connections that were live for less than `healthyAfter`.
    private var briefLives = 0
    /// Consecutive failed attempts of any nature.
    private var attempts = 0
    /// The last time at which the destination was live, or the start, in ns.
    private var missingSince: Int64 = 0
    private var taken: Int64 = 0

    init(policy: Policy = Policy(), retry: OutputRetry? = nil) {
        self.policy = policy
        self.retry = retry
    }

    /// Latest time for the next call of `observe`, in ns; `nil` means no deadline beyond the owner's own interval.
    var deadline: Int64? {
        if case .waiting(let until) = state { until } else { nil }
    }

    mutating func start(at now: Int64) -> [Action] {
        guard state == .idle else { return [] }
        missingSince = now
        return connect(at: now)
    }

    /// Evaluates an observation of the connection and returns the due actions. Call it often, and no later than
    /// `deadline`.
    /// - Parameter jitter: 0…1, drawn by the caller. Spreads the attempts of many outputs.
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
            } else if seen.hasBegun, !seen.isWaiting {
                state = .connecting(since: now)
            } else if now - since > policy.connectLimit {
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

    /// Retries at once, on request, a destination that was given up or that waits for its next attempt.
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

    /// Gives up the destination, because no connection can be created, for a lasting reason.
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

    private static let wedged = OutputFault(.wedged, "the server accepts no more data")
    private static let deaf = OutputFault(
        .wedged, "the server has stopped reading: its host accepts data, but the server no longer acknowledges it")

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
            fault.words += ", soon after it accepted the stream: is the stream key correct?"
        }
        return retreat(fault, at: now, jitter: jitter)
    }

    /// Gives up the connection and schedules the next attempt. `jitter` shortens the delay by up to a quarter.
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
        // The first brief connection does not count against the destination.
        if case .live = state, briefLives > 1 { delay = policy.refusal.after(briefLives - 2) }
        var until = now + Int64(Double(delay) * (1 - 0.25 * min(max(jitter, 0), 1)))
        if let limit = retry?.maxSeconds { until = min(until, missingSince + Int64(limit) * 1_000_000_000) }
        state = .waiting(until: until)
        return [.abandon]
    }

    /// Returns the reason for giving up; `nil` if there is another attempt.
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
