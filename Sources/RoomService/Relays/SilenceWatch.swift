/// Decides when a worker from which nothing arrives counts as hung. Pure.
///
/// A worker that reports at least once a second has run between any two checks. If none of its threads has, it is stopped
/// or deadlocked, and it is given up sooner than one that a busy machine or a disk holds up. Time for which the caller
/// itself stood still does not count as silence. All times are in ns of one clock.
struct SilenceWatch: Sendable {
    /// The reason why a worker counts as hung.
    enum Fault: Hashable, Sendable {
        /// The worker has not run between two checks.
        case stopped
        /// Nothing has arrived for too long, whatever its process does.
        case silent

        /// Description for operators.
        var words: String {
            switch self {
            case .stopped: "no status for \(SilenceWatch.stopped / 1_000_000_000) s, in which it did not run"
            case .silent: "no status for \(SilenceWatch.longest / 1_000_000_000) s"
            }
        }
    }

    /// Silence after which a worker that has not run counts as hung.
    static let stopped = suspicion + step
    /// Silence after which any worker counts as hung.
    static let longest: Int64 = 15_000_000_000
    /// Silence after which the process is examined. Each check wakes a thread for each worker; those of a worker that
    /// reports in time are at least 0.8 s apart.
    static let suspicion: Int64 = 1_800_000_000
    /// Time between two checks of a process, which is longer than a working relay rests.
    static let step: Int64 = 1_200_000_000
    /// Time between two checks of a worker whose process is not examined.
    static let longStep: Int64 = 3_000_000_000
    /// Delay of a check from which the caller counts as having stood still.
    static let lateness: Int64 = 250_000_000

    /// Time of the next check.
    private(set) var due: Int64
    private var isExamined: Bool
    /// Time of the last report, later by the time for which the caller stood still since then.
    private var lastReport: Int64
    /// Whether this check is late, and whether the one before it was.
    private var isLate = (now: false, before: false)
    /// The process at the last check.
    private var process: ProcessRun?

    /// Creates the watch of a worker to which the caller has just connected.
    ///
    /// - Parameter isExamined: Whether the caller can provide the state of the worker's process.
    init(at now: Int64, isExamined: Bool) {
        self.isExamined = isExamined
        lastReport = now
        due = now + (isExamined ? Self.suspicion : Self.longStep)
    }

    private var patience: Int64 { isExamined ? Self.suspicion : Self.longStep }

    /// Records that something has arrived.
    mutating func heard(at now: Int64) {
        lastReport = max(lastReport, now)
        process = nil
    }

    /// Records that the worker was told to end. It then waits for files and connections to be closed, and reports nothing
    /// meanwhile, although it is healthy: only `longest` applies from now on.
    mutating func ends() {
        isExamined = false
        process = nil
    }

    /// Begins a check.
    ///
    /// - Returns: Whether `judge` needs the state of the process.
    mutating func begin(at now: Int64) -> Bool {
        let late = now - due
        isLate = (late > Self.lateness, isLate.now)
        // What has arrived meanwhile waits to be read.
        if isLate.now { lastReport = min(lastReport + late, now) }
        return isExamined && now - lastReport >= Self.suspicion
    }

    /// Ends a check, and sets the time of the next one.
    ///
    /// - Parameters:
    ///   - now: The time at which the check began.
    ///   - process: State of the worker's process; `nil` if it is not known.
    ///   - readAt: The time at which that state had been read; `nil` if at once.
    mutating func judge(at now: Int64, _ process: ProcessRun?, readAt: Int64? = nil) -> Fault? {
        let silence = now - lastReport
        guard silence >= patience else {
            due = lastReport + patience
            return nil
        }
        let last = self.process
        self.process = process
        // If the caller stands still while it reads, a worker that stood still with it gets time to run nevertheless.
        due = max(now, readAt ?? now) + (isExamined ? Self.step : Self.longStep)
        // A caller that is late at every check gives a worker up all the same.
        if silence >= Self.longest, !isLate.now || isLate.before { return .silent }
        guard silence >= Self.stopped, !isLate.now, let earlier = last, let process else { return nil }
        return process.hasStoodStill(since: earlier) ? .stopped : nil
    }
}
