import MixModel
import Synchronization
import TaskStore

/// The load of this machine, shared by all rooms. Rooms query and update it while they process events, so it answers
/// from memory and never waits. Thread-safe.
package final class MachineLoad: Sendable {
    private let accounting: Mutex<LoadAccounting>

    /// Cores that are enough for a mix of two (ADR 16, table of costs).
    static let coresOfAMix = 0.5

    package init(settings: LoadSettings = LoadSettings(cores: 0), costs: CostModel = CostModel()) {
        var accounting = LoadAccounting(settings: settings)
        accounting.costs = costs
        self.accounting = Mutex(accounting)
    }

    /// Figures for metrics.
    package struct Figures: Sendable {
        /// Cores that may still be booked; `nil` = no limit.
        package var availableCores: Double?
        /// Cores that may be booked in total; `nil` = no limit, or not known yet.
        package var capacity: Double?
        /// Sum of the cores that the waiting tasks need.
        package var waitingCores: Double
        /// Sum of the cores that the tasks on air would use at full quality.
        package var committedCores: Double
        /// Cores that the tasks on air use now.
        package var usedCores: Double
        package var utilisation: Double
        package var degradedTasks: [Int: Int]
        package var waitingTasks: Int
        /// Tasks that were refused since the start.
        package var refusals: Int
    }

    package var figures: Figures {
        accounting.withLock { accounting in
            Figures(
                availableCores: accounting.free.map { max(0, $0) }, capacity: accounting.capacity,
                waitingCores: accounting.waiting.values.reduce(0) { $0 + $1.refusal.neededCores },
                committedCores: accounting.committed,
                usedCores: accounting.entries.values.reduce(0) { $0 + $1.used }, utilisation: accounting.utilisation,
                degradedTasks: accounting.degraded, waitingTasks: accounting.waiting.count,
                refusals: accounting.refusals)
        }
    }

    /// Cores of this machine that programs may use, for the other nodes of a cluster; `nil` = no limit, or not known yet.
    ///
    /// A machine without programs accepts any, and one on which tasks wait accepts none.
    package var nodeCores: NodeCores? {
        accounting.withLock { accounting in
            guard let total = accounting.capacity, let free = accounting.free else { return nil }
            guard accounting.waiting.isEmpty else { return NodeCores(total: total, free: 0) }
            return NodeCores(total: total, free: max(accounting.entries.isEmpty ? Self.coresOfAMix : 0, free))
        }
    }

    var costs: CostModel { accounting.withLock { $0.costs } }

    /// Adds the effects of the machine's load on a decision about this task to `context`.
    func advise(_ context: inout PlanningContext, on machine: TaskMachine, priority: Int) {
        context.load = order(for: machine.id, priority: priority)
        context.admission = machine.isActive ? nil : admission(for: machine.id, priority: priority)
    }

    /// Returns the capacity for a task; `nil` = unlimited.
    func admission(for task: TaskID, priority: Int) -> Admission? {
        accounting.withLock { $0.admission(for: task, priority: priority) }
    }

    package func order(for task: TaskID, priority: Int) -> LoadOrder {
        accounting.withLock { $0.order(for: task, priority: priority) }
    }

    /// Books a decision. Call after each decision and before it is stored, because two rooms must not get the same
    /// cores.
    func settle(_ machine: TaskMachine, priority: Int) {
        accounting.withLock { $0.settle(machine, priority: priority) }
    }

    /// Removes a task that continues on another node.
    func forget(_ task: TaskID) { accounting.withLock { $0.forget(task) } }

    /// Reserves cores for work that is not a task. Replaces the previous reservation.
    package func reserve(cores: Double) { accounting.withLock { $0.reserved = cores } }

    /// Returns whether work that is not a task and needs this many cores fits. An idle machine accepts it in any case.
    ///
    /// - Parameter pending: Cores of other such work that has been accepted and is not reserved yet.
    package func hasRoom(cores: Double, besides pending: Double = 0) -> Bool {
        accounting.withLock { accounting in
            guard let free = accounting.free, !accounting.entries.isEmpty || accounting.reserved + pending > 0 else {
                return true
            }
            return free >= cores + pending
        }
    }

    /// Counts a refused task that is not kept waiting.
    func noteRefusal() { accounting.withLock { $0.noteRefusal() } }

    package func take(_ status: RelayStatus, of task: TaskID) {
        accounting.withLock { $0.take(status, of: task) }
    }

    /// - Parameter now: Time in ns of CLOCK_MONOTONIC.
    func tick(_ reading: MachineReading?, now: Int64) -> LoadAccounting.Outcome {
        accounting.withLock { $0.tick(reading, now: now) }
    }
}
