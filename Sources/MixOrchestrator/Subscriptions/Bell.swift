import Synchronization

/// Wakes one waiter. A ring that nobody waits for is kept for the next wait; several are one. Thread-safe.
final class Bell: Sendable {
    private struct State {
        var isRung = false
        var waiter: CheckedContinuation<Void, Never>?
    }
    private let state = Mutex(State())

    func ring() {
        let waiter = state.withLock { state in
            if state.waiter == nil { state.isRung = true }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Whether the next wait returns at once.
    var isRung: Bool { state.withLock { $0.isRung } }

    /// Returns when it is rung, at `time` (ns of CLOCK_MONOTONIC), or when the task is cancelled.
    func wait(until time: Int64?) async {
        await withTaskGroup(of: Void.self) { group in
            if let time {
                group.addTask {
                    guard (try? await MonotonicClock.sleep(until: time)) != nil else { return }
                    self.ring()
                }
            }
            await wait()
            group.cancelAll()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if state.isRung || Task.isCancelled {
                        state.isRung = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }
}
