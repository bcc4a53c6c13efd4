import EncodedMedia
import MixModel

/// State machine that decides when a consumer's process is started, killed and restarted. Pure.
struct ConsumerMachine: Sendable {
    enum State: Hashable, Sendable {
        /// No process is running; the next one starts at `until`.
        case waiting(until: MediaTime)
        case running(since: MediaTime)
        /// The process was asked to end, or reported a failure that a restart cannot cure.
        case finished
    }

    enum Action: Hashable, Sendable {
        case launch
        /// Kills the process, because it hangs.
        case kill
    }

    /// Delays and limits, in seconds.
    struct Policy: Hashable, Sendable {
        /// Delay before the first restart. Each further failure doubles it, up to `longestDelay`.
        var firstDelay = 0.5
        /// Longest delay before a restart. Tags that the program sends meanwhile wait for the next process, so that a
        /// recording misses nothing, and HLS is delayed by at most this time.
        var longestDelay = 5.0
        /// Running time after which a process counts as healthy. Its next failure counts as the first again.
        var healthyAfter = 10.0
        /// Seconds without progress before a process counts as hung. Longer than a busy disk may stall.
        var patience = 15.0
    }

    let policy: Policy
    private(set) var state: State
    /// Failures since the process was last healthy.
    private(set) var failures = 0
    /// Last failure, if any; `nil` once the process works again.
    private(set) var lastError: String?
    /// Bytes that the process has taken, and the time at which that number last changed.
    private var progress: (taken: Int64, at: MediaTime)?

    init(policy: Policy = Policy(), now: MediaTime) {
        self.policy = policy
        state = .waiting(until: now)
    }

    /// Advances to `now` and returns the due action, if any.
    /// - Parameters:
    ///   - taken: Bytes that the process has taken since it was started.
    ///   - isWaiting: Whether more bytes wait for the process.
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
            lastError = "it accepted no data for \(Int(policy.patience)) s and was killed"
            self.progress = (taken, now)
            return .kill
        }
    }

    /// Clears the last error, because the process works again.
    mutating func recovered() { lastError = nil }

    /// Records that the process ended or could not be started, and schedules the next attempt.
    /// - Parameter isFinal: Whether a restart cannot help.
    mutating func ended(_ reason: String, isFinal: Bool, at now: MediaTime) {
        guard case .running(let start) = state else { return }
        // If the process was killed, the reason is already known.
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
