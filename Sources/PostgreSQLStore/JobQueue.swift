import Foundation

/// A bounded queue between callers and the threads that serve them.
final class JobQueue<Job: Sendable>: Sendable {
    enum Refusal: Sendable { case full, closed }

    private struct State {
        var waiting: [Job] = []
        var isClosed = false
    }
    private let condition = NSCondition()
    /// Guarded by `condition`.
    private nonisolated(unsafe) var state = State()
    /// Maximum number of jobs that wait.
    let limit: Int

    init(limit: Int) { self.limit = limit }

    var count: Int { condition.withLock { state.waiting.count } }

    /// Adds a job. Returns the reason if it was refused, or `nil`.
    func add(_ job: Job) -> Refusal? {
        condition.withLock {
            if state.isClosed { return .closed }
            guard state.waiting.count < limit else { return .full }
            state.waiting.append(job)
            condition.signal()
            return nil
        }
    }

    /// Takes the oldest jobs, at most `most`. Blocks while no job waits. Returns `nil` once the queue is closed and
    /// empty.
    func take(_ most: Int) -> [Job]? {
        condition.withLock {
            while state.waiting.isEmpty {
                if state.isClosed { return nil }
                condition.wait()
            }
            let taken = Array(state.waiting.prefix(most))
            state.waiting.removeFirst(taken.count)
            return taken
        }
    }

    /// Refuses further jobs. Waiting jobs can still be taken.
    func close() {
        condition.withLock {
            state.isClosed = true
            condition.broadcast()
        }
    }
}
