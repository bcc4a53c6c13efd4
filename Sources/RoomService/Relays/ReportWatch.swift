import EncodedMedia
import Synchronization

/// Watches a connection on which a worker may fall silent. Thread-safe.
final class ReportWatch: Sendable {
    private let process: Int32
    private let watch: Mutex<SilenceWatch>

    /// - Parameter process: The worker's process; 0 if it is not known or need not report every second.
    init(process: Int32 = 0) {
        self.process = process
        watch = Mutex(SilenceWatch(at: MonotonicClock.now(), isExamined: process > 1))
    }

    /// Records that something has arrived.
    func heard() { watch.withLock { $0.heard(at: MonotonicClock.now()) } }

    /// Records that the worker is told to end.
    func ends() { watch.withLock { $0.ends() } }

    /// Never returns normally.
    ///
    /// - Throws: `RelayError.silent` when nothing has arrived for too long, or an error when the task is cancelled.
    func run() async throws {
        while true {
            try await MonotonicClock.sleep(until: watch.withLock { $0.due })
            let now = MonotonicClock.now()
            let run = watch.withLock { $0.begin(at: now) } ? ProcessRun(of: process) : nil
            let readAt = MonotonicClock.now()
            if let fault = watch.withLock({ $0.judge(at: now, run, readAt: readAt) }) {
                throw RelayError.silent(fault.words)
            }
        }
    }
}
