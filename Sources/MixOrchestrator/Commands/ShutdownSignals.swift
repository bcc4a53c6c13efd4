import Foundation
import Logging

/// SIGTERM and SIGINT: the first begins an orderly shutdown, the second ends the process at once, and so does an orderly
/// shutdown that does not end. What was answered is stored by then. Relays are left to
/// themselves: those that were told to end do so, the others go on as after a crash.
///
/// Signals and time are watched on a thread of their own. Whatever keeps the threads of the cooperative pool busy, the
/// process ends in time.
struct ShutdownSignals: Sendable {
    let logger: Logger
    /// Longest from the first signal to the end of the process.
    let limit: Duration

    /// Runs `body` and has `onFirst` called at the first signal.
    func watch(_ body: @Sendable () async throws -> Void, onFirst: @escaping @Sendable () async -> Void) async throws {
        let (first, reporter) = AsyncStream.makeStream(of: Void.self)
        guard let signals = SignalPipe.open([SIGTERM, SIGINT]) else {
            throw StartupError("cannot watch for SIGTERM: no pipe: \(String(cString: strerror(errno)))")
        }
        let thread = Thread { watch(signals) { reporter.finish() } }
        thread.name = "shutdown"
        thread.start()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in first {}
                if !Task.isCancelled { await onFirst() }
            }
            defer { group.cancelAll() }
            try await body()
        }
    }

    /// Runs until the process ends.
    private func watch(_ signals: Int32, onFirst: () -> Void) {
        _ = SignalPipe.next(from: signals, within: nil)
        onFirst()
        if let signal = SignalPipe.next(from: signals, within: limit) {
            logger.warning("second signal: ended at once, relays are left to themselves")
            // The shell's convention for a process that a signal ended.
            _exit(128 + signal)
        }
        logger.critical("the shutdown takes longer than \(limit): ended at once, relays are left to themselves")
        _exit(1)
    }
}
