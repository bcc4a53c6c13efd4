import MixModel
import Synchronization

/// The number of viewers of each program, and its limits. Thread-safe.
package final class ViewerCounts: Sendable {
    package struct Limits: Hashable, Sendable {
        package var all = Int.max
        var perProgram = Int.max

        package init(all: Int = Int.max, perProgram: Int = Int.max) {
            self.all = all
            self.perProgram = perProgram
        }
    }

    private struct State {
        var counts: [TaskID: Int] = [:]
        var total = 0
    }
    private let state = Mutex(State())
    package let limits: Limits

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// A viewer's place, given back when the last reference to it is gone.
    package final class Place: Sendable {
        private let counts: ViewerCounts
        private let task: TaskID

        fileprivate init(_ counts: ViewerCounts, _ task: TaskID) {
            self.counts = counts
            self.task = task
        }

        deinit { counts.leave(task) }
    }

    /// - Throws: `OrchestratorError` when there is no place.
    package func enter(_ task: TaskID) throws(OrchestratorError) -> Place {
        let refusal = state.withLock { state -> OrchestratorError? in
            let count = state.counts[task, default: 0]
            if state.total >= limits.all {
                return .noPlace("this service has \(limits.all) viewers", setting: "playback.maxViewers")
            }
            if count >= limits.perProgram {
                return .noPlace(
                    "this program has \(limits.perProgram) viewers", setting: "playback.maxViewersPerProgram")
            }
            state.counts[task] = count + 1
            state.total += 1
            return nil
        }
        if let refusal { throw refusal }
        return Place(self, task)
    }

    private func leave(_ task: TaskID) {
        state.withLock { state in
            state.total -= 1
            let count = state.counts[task, default: 1] - 1
            state.counts[task] = count == 0 ? nil : count
        }
    }

    /// Returns the number of viewers of a task's program.
    package func viewers(of task: TaskID) -> Int { state.withLock { $0.counts[task] ?? 0 } }
    package var total: Int { state.withLock { $0.total } }
}

extension OrchestratorError {
    fileprivate static func noPlace(_ what: String, setting: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "viewers-full", "No more viewers are admitted",
            detail: "\(what), which is the limit: retry later, play the program from a CDN, or raise \(setting)",
            retryAfter: 10)
    }
}
