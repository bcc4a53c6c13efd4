import Foundation
import Logging
import UnixSignals

/// SIGTERM and SIGINT: the first begins an orderly shutdown, the second ends the process at once, and so does an orderly
/// shutdown that does not end. What was answered is stored by then. Relays are left to
/// themselves: those that were told to end do so, the others go on as after a crash.
struct ShutdownSignals: Sendable {
    let logger: Logger
    /// Longest from the first signal to the end of the process.
    let limit: Duration

    /// Runs `body` and has `onFirst` called at the first signal.
    func watch(_ body: @Sendable () async throws -> Void, onFirst: @escaping @Sendable () async -> Void) async throws {
        // From here on they no longer end the process by themselves.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await wait(for: signals, onFirst) }
            defer { group.cancelAll() }
            try await body()
        }
    }

    private func wait(for signals: UnixSignalsSequence, _ onFirst: @escaping @Sendable () async -> Void) async {
        await withDiscardingTaskGroup { group in
            var isFirst = true
            for await signal in signals {
                guard isFirst else {
                    logger.warning("second signal: ended at once, relays are left to themselves")
                    // The shell's convention for a process that a signal ended.
                    _exit(128 + signal.rawValue)
                }
                isFirst = false
                group.addTask {
                    guard (try? await Task.sleep(for: limit)) != nil else { return }
                    logger.critical(
                        "the shutdown takes longer than \(limit): ended at once, relays are left to themselves")
                    _exit(1)
                }
                await onFirst()
            }
            group.cancelAll()
        }
    }
}
