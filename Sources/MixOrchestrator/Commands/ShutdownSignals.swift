import Foundation
import Logging
import RoomService

/// Handles SIGTERM and SIGINT.
///
/// The first signal begins an orderly shutdown. The second signal ends the process at once, and so does an orderly
/// shutdown that exceeds the limit. By then, every answered request is stored. Relays are left running: those that were
/// told to end do so, and the others continue as after a crash.
///
/// A dedicated thread waits for signals and the deadline, so the process ends in time even if the threads of the
/// cooperative pool are all busy.
struct ShutdownSignals: Sendable {
    let logger: Logger
    /// Maximum time from the first signal to the end of the process.
    let limit: Duration

    /// Makes a signal end the process while it starts, which may take the length of a lease. A process is ended by
    /// default, unless it is the first one of a container: for that one, the kernel ignores signals without a handler.
    static func endStart() {
        guard getpid() == 1 else { return }
        for number in [SIGTERM, SIGINT] {
            signal(number) { number in _exit(128 + number) }
        }
    }

    /// Runs `body` and calls `onFirst` at the first signal.
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

    /// Waits for signals until the process ends.
    private func watch(_ signals: Int32, onFirst: () -> Void) {
        _ = SignalPipe.next(from: signals, within: nil)
        onFirst()
        if let signal = SignalPipe.next(from: signals, within: limit) {
            logger.warning("second signal: exiting at once without waiting for relays")
            // The shell's convention for a process that was ended by a signal.
            _exit(128 + signal)
        }
        logger.critical("the shutdown takes longer than \(limit): exiting at once without waiting for relays")
        _exit(1)
    }
}
