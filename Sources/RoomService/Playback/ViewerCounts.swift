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
        /// Numbers of viewers served by another process.
        var elsewhere: [TaskID: Int] = [:]
        var totalElsewhere = 0
        /// Programs whose number of viewers has changed since the last query; `nil` before the first query.
        var changed: Set<TaskID>?
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
            if let refusal = self.refusal(of: task, state) { return refusal }
            state.counts[task, default: 0] += 1
            state.total += 1
            state.changed?.insert(task)
            return nil
        }
        if let refusal { throw refusal }
        return Place(self, task)
    }

    private func refusal(of task: TaskID, _ state: State) -> OrchestratorError? {
        if state.total + state.totalElsewhere >= limits.all {
            return .noPlace("this service has \(limits.all) viewers", setting: "playback.maxViewers")
        }
        if state.counts[task, default: 0] + state.elsewhere[task, default: 0] >= limits.perProgram {
            return .noPlace(
                "this program has \(limits.perProgram) viewers", setting: "playback.maxViewersPerProgram")
        }
        return nil
    }

    /// Counts a viewer that another process is about to serve, until the next `setElsewhere(_:)`.
    ///
    /// - Throws: `OrchestratorError` when there is no place.
    func enterElsewhere(_ task: TaskID) throws(OrchestratorError) {
        let refusal = state.withLock { state -> OrchestratorError? in
            if let refusal = self.refusal(of: task, state) { return refusal }
            state.elsewhere[task, default: 0] += 1
            state.totalElsewhere += 1
            state.changed?.insert(task)
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Sets the numbers of viewers of all programs that another process serves.
    func setElsewhere(_ viewers: [TaskID: Int]) {
        state.withLock { state in
            if state.changed != nil, state.elsewhere != viewers {
                for task in Set(state.elsewhere.keys).union(viewers.keys) where state.elsewhere[task] != viewers[task] {
                    state.changed?.insert(task)
                }
            }
            state.elsewhere = viewers
            state.totalElsewhere = viewers.values.reduce(0) { $0.addingReportingOverflow($1).partialValue }
        }
    }

    private func leave(_ task: TaskID) {
        state.withLock { state in
            state.total -= 1
            let count = state.counts[task, default: 1] - 1
            state.counts[task] = count == 0 ? nil : count
            state.changed?.insert(task)
        }
    }

    /// Returns the programs whose number of viewers may have changed since the last call. For a single, periodic
    /// caller.
    func takeChanged() -> Set<TaskID> {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed ?? []
        }
    }

    /// Returns the number of viewers of a task's program.
    package func viewers(of task: TaskID) -> Int {
        state.withLock { $0.counts[task, default: 0] + $0.elsewhere[task, default: 0] }
    }

    /// Returns the number of viewers served by this process.
    func viewersHere(of task: TaskID) -> Int { state.withLock { $0.counts[task, default: 0] } }
    package var total: Int { state.withLock { $0.total + $0.totalElsewhere } }
}

extension OrchestratorError {
    fileprivate static func noPlace(_ what: String, setting: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "viewers-full", "No more viewers are admitted",
            detail: "\(what), which is the limit: retry later, play the program from a CDN, or raise \(setting)",
            retryAfter: 10)
    }
}
