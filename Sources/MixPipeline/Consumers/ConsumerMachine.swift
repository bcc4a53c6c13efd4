import MixModel

/// When the process of a consumer is started, given up and started again. Pure.
struct ConsumerMachine: Sendable {
    enum State: Hashable, Sendable {
        /// Started at this time.
        case waiting(until: MediaTime)
        case running(since: MediaTime)
        /// Told to end, or it said that trying again cannot help.
        case finished
    }

    enum Action: Hashable, Sendable {
        case launch
        /// It hangs.
        case kill
    }

    /// In seconds.
    struct Policy: Hashable, Sendable {
        /// The first restart comes after this, each further one after twice as much …
        var firstDelay = 0.5
        /// … up to this.
        var longestDelay = 30.0
        /// One that has run for so long is healthy: its next failure is the first again.
        var healthyAfter = 30.0
        /// One that takes nothing of what waits for so long hangs. Longer than a disk that is busy.
        var patience = 15.0
    }

    let policy: Policy
    private(set) var state: State
    /// Since it was healthy last.
    private(set) var failures = 0
    /// Why it does not run, or did not when it ran last.
    private(set) var lastError: String?
    /// The bytes it had taken when that changed last, and when that was.
    private var progress: (taken: Int64, at: MediaTime)?

    init(policy: Policy = Policy(), now: MediaTime) {
        self.policy = policy
        state = .waiting(until: now)
    }

    /// What is to be done now.
    /// - Parameters:
    ///   - taken: Bytes that the process has taken since it was started.
    ///   - isWaiting: Whether there is more for it.
    mutating func advance(to now: MediaTime, taken: Int64, isWaiting: Bool) -> Action? {
        switch state {
        case .finished: return nil
        case .waiting(let time):
            guard now >= time else { return nil }
            state = .running(since: now)
            progress = (0, now)
            return .launch
        case .running(let start):
            if now - start >= .seconds(policy.healthyAfter) { failures = 0 }
            guard let progress, taken == progress.taken, isWaiting else {
                progress = (taken, now)
                return nil
            }
            guard now - progress.at > .seconds(policy.patience) else { return nil }
            lastError = "it took nothing for \(Int(policy.patience)) s and was killed"
            self.progress = (taken, now)
            return .kill
        }
    }

    /// The process is well.
    mutating func recovered() { lastError = nil }

    /// The process has ended, or could not be started.
    /// - Parameter isFinal: Trying again cannot help.
    mutating func ended(_ reason: String, isFinal: Bool, at now: MediaTime) {
        guard case .running(let start) = state else { return }
        // Whoever was killed has the reason already.
        lastError = lastError ?? reason
        guard !isFinal else {
            state = .finished
            return
        }
        if now - start >= .seconds(policy.healthyAfter) { failures = 0 }
        failures += 1
        let delay = min(policy.firstDelay * Double(1 << min(failures - 1, 16)), policy.longestDelay)
        state = .waiting(until: now + .seconds(delay))
    }

    mutating func finish() { state = .finished }
}
