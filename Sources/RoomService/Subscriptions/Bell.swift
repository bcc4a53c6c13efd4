import EncodedMedia
import Synchronization

/// Wakes one waiter. A ring without a waiter is kept for the next wait, and several such rings count as one.
/// Thread-safe.
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

    /// Waits until the bell is rung, until `time` (ns of CLOCK_MONOTONIC), or until the task is cancelled.
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
