import MixModel
import Synchronization

/// The number of viewers of each program, and its limits. Thread-safe.
package final class ViewerCounts: Sendable {
    package struct Limits: Hashable, Sendable {
        package var all = Int.max
        var perProgram = Int.max
        /// The apps for which places of `all` are kept (`AppShares`).
        var apps: Set<AppID> = [.standard]

        package init(all: Int = Int.max, perProgram: Int = Int.max, apps: Set<AppID> = [.standard]) {
            self.all = all
            self.perProgram = perProgram
            self.apps = apps
        }
    }

    private struct State {
        var counts: [TaskID: Int] = [:]
        var total = 0
        var ofApps: [AppID: Int] = [:]
        /// Numbers of viewers served by another process.
        var elsewhere: [TaskID: Int] = [:]
        var totalElsewhere = 0
        var ofAppsElsewhere: [AppID: Int] = [:]
        /// Other nodes that read programs, by their names.
        var nodes: [TaskID: [String: Reader]] = [:]
        /// Programs whose number of viewers has changed since the last query; `nil` before the first query.
        var changed: Set<TaskID>?
    }
    /// Another node that reads a program for its viewers.
    private struct Reader {
        /// Its places, which `counts` contains.
        var places = 0
        /// The number of its viewers; `nil` until it has said so.
        var viewers: Int?
    }
    private let state = Mutex(State())
    package let limits: Limits
    /// Largest number of viewers that is believed of another process or node.
    private static let mostReported = 1 << 20

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// A viewer's place, given back when the last reference to it is gone.
    package final class Place: Sendable {
        private let counts: ViewerCounts
        private let task: TaskID
        private let node: String?

        fileprivate init(_ counts: ViewerCounts, _ task: TaskID, _ node: String?) {
            self.counts = counts
            self.task = task
            self.node = node
        }

        deinit { counts.leave(task, node) }
    }

    /// - Parameter node: Name of the node that reads the program for its viewers; `nil` for a viewer.
    /// - Throws: `OrchestratorError` when there is no place.
    package func enter(_ task: TaskID, for node: String? = nil) throws(OrchestratorError) -> Place {
        let refusal = state.withLock { state -> OrchestratorError? in
            if let refusal = self.refusal(of: task, state) { return refusal }
            state.counts[task, default: 0] += 1
            state.total += 1
            state.ofApps[task.app, default: 0] += 1
            if let node { state.nodes[task, default: [:]][node, default: Reader()].places += 1 }
            state.changed?.insert(task)
            return nil
        }
        if let refusal { throw refusal }
        return Place(self, task, node)
    }

    private func refusal(of task: TaskID, _ state: State) -> OrchestratorError? {
        if state.total + state.totalElsewhere >= limits.all {
            return .noPlace("this service has \(limits.all) viewers", setting: "playback.maxViewers")
        }
        if let refusal = self.refusal(of: task.app, state) { return refusal }
        if state.counts[task, default: 0] + state.elsewhere[task, default: 0] >= limits.perProgram {
            return .noPlace(
                "this program has \(limits.perProgram) viewers", setting: "playback.maxViewersPerProgram")
        }
        return nil
    }

    private func refusal(of app: AppID, _ state: State) -> OrchestratorError? {
        // An app that is alone may take all places.
        guard limits.apps != [app] else { return nil }
        let taken = state.ofApps.merging(state.ofAppsElsewhere, uniquingKeysWith: +)
        guard !AppShares(places: limits.all, apps: limits.apps).hasPlace(for: app, taken: taken) else { return nil }
        return .noPlace(
            "the app \(app) has \(taken[app] ?? 0) of this service's \(limits.all) places, and the free ones are kept "
                + "for other apps", setting: "playback.maxViewers")
    }

    /// Counts a viewer that another process is about to serve, until the next `setElsewhere(_:)`.
    ///
    /// - Throws: `OrchestratorError` when there is no place.
    func enterElsewhere(_ task: TaskID) throws(OrchestratorError) {
        let refusal = state.withLock { state -> OrchestratorError? in
            if let refusal = self.refusal(of: task, state) { return refusal }
            state.elsewhere[task, default: 0] += 1
            state.totalElsewhere += 1
            state.ofAppsElsewhere[task.app, default: 0] += 1
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
            state.ofAppsElsewhere = Dictionary(
                // The reported numbers are not trusted to be small.
                viewers.map { ($0.key.app, min(max($0.value, 0), Self.mostReported)) }, uniquingKeysWith: +)
        }
    }

    /// Sets the number of viewers for whom another node reads a program. Has no effect if it reads none, and holds until it
    /// has stopped.
    func set(_ viewers: Int, of task: TaskID, at node: String) {
        state.withLock { state in
            guard let reader = state.nodes[task]?[node], reader.viewers != viewers else { return }
            // The reported number is not trusted to be small.
            state.nodes[task]?[node]?.viewers = min(max(viewers, 0), Self.mostReported)
            state.changed?.insert(task)
        }
    }

    private func leave(_ task: TaskID, _ node: String?) {
        state.withLock { state in
            state.total -= 1
            let ofApp = state.ofApps[task.app, default: 1] - 1
            state.ofApps[task.app] = ofApp == 0 ? nil : ofApp
            let count = state.counts[task, default: 1] - 1
            state.counts[task] = count == 0 ? nil : count
            state.changed?.insert(task)
            guard let node, let places = state.nodes[task]?[node]?.places else { return }
            state.nodes[task]?[node]?.places = places - 1
            if places <= 1 { state.nodes[task]?[node] = nil }
            if state.nodes[task]?.isEmpty ?? false { state.nodes[task] = nil }
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

    /// Returns the number of viewers of a task's program, at all nodes. A node that does not say how many it has counts as
    /// one for each of its connections.
    package func viewers(of task: TaskID) -> Int {
        state.withLock { state in
            var count = state.counts[task, default: 0] + state.elsewhere[task, default: 0]
            for reader in (state.nodes[task] ?? [:]).values {
                count += (reader.viewers ?? reader.places) - reader.places
            }
            return count
        }
    }

    /// Returns the number of viewers of a task's program at this node.
    func viewersAtNode(of task: TaskID) -> Int {
        state.withLock { state in
            var count = state.counts[task, default: 0] + state.elsewhere[task, default: 0]
            for reader in (state.nodes[task] ?? [:]).values { count -= reader.places }
            return count
        }
    }

    /// Returns the number of viewers served by this process, including other nodes that read the program.
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
