import MixModel
import Synchronization

/// Each app's use of the things that `Quotas` limits, counted incrementally. Thread-safe. Checks take constant time,
/// however many rooms and tasks there are.
package final class QuotaUsage: Sendable {
    fileprivate struct Usage {
        var rooms = 0
        var bytes = 0
        var tasks = 0
    }
    /// A task that counts towards the quota.
    fileprivate struct Held {
        var room: RoomID
        var state: TaskState
    }
    fileprivate struct State {
        var usage: [AppID: Usage] = [:]
        var tasks: [TaskID: Held] = [:]
        var states: [TaskState: Int] = [:]
    }

    package let quotas: AppQuotas
    private let state = Mutex(State())

    package init(quotas: AppQuotas = AppQuotas()) { self.quotas = quotas }

    // MARK: Rooms

    /// Adds stored rooms and bytes to the app's use. Negative numbers reduce it.
    func count(rooms: Int, bytes: Int, of app: AppID) {
        state.withLock { state in
            state.usage[app, default: Usage()].rooms += rooms
            state.usage[app, default: Usage()].bytes += bytes
        }
    }

    /// Counts one more room of the app.
    ///
    /// - Throws: `OrchestratorError` when the app has reached its limit of rooms.
    func addRoom(of app: AppID) throws(OrchestratorError) {
        let limit = quotas.of(app)[.rooms]
        let isAdded = state.withLock { state in
            guard state.usage[app]?.rooms ?? 0 < limit else { return false }
            state.usage[app, default: Usage()].rooms += 1
            return true
        }
        if !isAdded { throw .overQuota(.rooms, limit, app) }
    }

    func removeRoom(of app: AppID) { count(rooms: -1, bytes: 0, of: app) }

    /// Returns whether the app's rooms may take more bytes.
    func mayGrow(_ app: AppID) -> Bool {
        let limit = quotas.of(app)[.storedBytes]
        return state.withLock { $0.usage[app]?.bytes ?? 0 < limit }
    }

    /// Number of rooms to remove, of apps that use more than nine tenths of their quota. Eight tenths remain.
    var surplusRooms: [AppID: Int] {
        let counts = state.withLock { $0.usage.mapValues(\.rooms) }
        return counts.reduce(into: [:]) { surplus, app in
            let limit = quotas.of(app.key)[.rooms]
            if app.value > Self.tenths(9, of: limit) { surplus[app.key] = app.value - Self.tenths(8, of: limit) }
        }
    }

    /// Returns a number of tenths of a limit, rounded down.
    private static func tenths(_ number: Int, of limit: Int) -> Int {
        limit / 10 * number + limit % 10 * number / 10
    }

    /// Number of rooms of all apps.
    var roomCount: Int { state.withLock { $0.usage.values.reduce(0) { $0 + max(0, $1.rooms) } } }

    // MARK: Tasks

    /// Counts a task before its change is stored.
    ///
    /// - Throws: `OrchestratorError` when it would exceed the quota. The counts are then unchanged.
    func take(_ machine: TaskMachine) throws(OrchestratorError) {
        let app = machine.id.app
        let limit = quotas.of(app)[.tasks]
        let isTaken = state.withLock { state in
            guard machine.counts, state.tasks[machine.id] == nil, state.usage[app]?.tasks ?? 0 >= limit else {
                state.hold(machine.id, machine.held)
                return true
            }
            return false
        }
        if !isTaken { throw .overQuota(.tasks, limit, app) }
    }

    /// Counts the current state of a task, regardless of the limit, because programs on air continue.
    func settle(_ machine: TaskMachine) { state.withLock { $0.hold(machine.id, machine.held) } }

    /// Counts a stored explicit task of which only the identifier is known so far.
    func hold(_ task: TaskID, of room: RoomID) {
        state.withLock { $0.hold(task, Held(room: room, state: .starting)) }
    }

    /// Stops counting a task that is gone, or that was not created.
    func release(_ task: TaskID) { state.withLock { $0.hold(task, nil) } }

    /// Number of counted tasks in each state.
    var taskStates: [TaskState: Int] { state.withLock { $0.states } }

    /// Rooms that have counted tasks.
    var busyRooms: Set<RoomID> { state.withLock { Set($0.tasks.values.map(\.room)) } }
}

extension QuotaUsage.State {
    fileprivate mutating func hold(_ task: TaskID, _ new: QuotaUsage.Held?) {
        guard tasks[task] != nil || new != nil else { return }
        let old = tasks.updateValue(new ?? QuotaUsage.Held(room: "", state: .stopped), forKey: task)
        if new == nil { tasks[task] = nil }
        if let old { states[old.state, default: 0] -= 1 }
        if let new { states[new.state, default: 0] += 1 }
        if (old == nil) != (new == nil) { usage[task.app, default: QuotaUsage.Usage()].tasks += new == nil ? -1 : 1 }
    }
}

extension TaskMachine {
    /// Whether the task counts toward `Quotas.Name.tasks`.
    fileprivate var counts: Bool { isExplicit ? !isFinished : isActive || awaitsCapacity }

    fileprivate var held: QuotaUsage.Held? {
        counts ? QuotaUsage.Held(room: room, state: reportedState.state) : nil
    }
}
