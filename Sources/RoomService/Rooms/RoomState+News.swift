import EventSubscription
import MixModel

/// Occurrences that subscribers and listeners receive about a room and its tasks. Pure.
extension RoomState {
    /// Removes and returns all occurrences to report when the draft takes effect.
    ///
    /// - Parameters:
    ///   - wallTime: Current time in seconds since 1970.
    ///   - now: Current time in ns of CLOCK_MONOTONIC.
    mutating func takeOccurrences(of draft: RoomDraft, wallTime: Double, now: Int64) -> [Occurrence] {
        let happenedAt = draft.event?.time ?? wallTime
        let ofRoom = draft.room.occurrences(since: room.document).map {
            Occurrence(room: id, at: happenedAt, kind: $0)
        }
        var kinds = draft.occurrences
        for (index, task) in draft.tasks.enumerated() where !task.isForgotten || task.machine.isDisposable {
            kinds += stateChange(of: task.machine, at: index)
            kinds += task.switches.map { .taskSwitched(task.machine.id, $0) }
        }
        for index in tasks.indices { kinds += takeOutputChanges(at: index) }
        if let change = serviceWatch.take(ServiceStates(tasks), now: now) { kinds.append(.roomServicesChanged(change)) }
        return ofRoom + kinds.map { Occurrence(room: id, at: wallTime, kind: $0) }
    }

    /// Reports anew what `takeOccurrences` has taken for a draft that is not stored.
    ///
    /// - Parameter earlier: The state before `takeOccurrences`.
    mutating func putBackOccurrences(of earlier: RoomState) {
        serviceWatch = earlier.serviceWatch
        for (index, task) in earlier.tasks.enumerated() where index < tasks.count {
            tasks[index].outputChanges = task.outputChanges
            tasks[index].outputURLs = task.outputURLs
        }
    }

    /// Drops pending changes of outputs, because there are no subscribers or listeners.
    mutating func dropOutputChanges() {
        for index in tasks.indices where !tasks[index].outputChanges.isEmpty { tasks[index].outputChanges = [] }
    }

    /// Returns whether there are changes of the task's outputs or the room's services to report.
    func hasNews(of task: TaskID, now: Int64) -> Bool {
        guard let task = self.task(task) else { return false }
        return !task.outputChanges.isEmpty || serviceWatch.tells(of: ServiceStates(tasks), now: now)
    }

    private func stateChange(of machine: TaskMachine, at index: Int) -> [Occurrence.Kind] {
        let (state, reason) = machine.reportedState
        let before = index < tasks.count ? tasks[index].machine.document.reportedState.state : nil
        guard state != before else { return [] }
        return [.taskStateChanged(machine.id, state, from: before, reason: reason, error: machine.lastError)]
    }

    private mutating func takeOutputChanges(at index: Int) -> [Occurrence.Kind] {
        let changes = tasks[index].outputChanges
        guard !changes.isEmpty else { return [] }
        tasks[index].outputChanges = []
        return changes.map { change in
            let url = tasks[index].outputURLs[change.output] ?? ""
            if change.state == .removed { tasks[index].outputURLs[change.output] = nil }
            return .outputStateChanged(tasks[index].id, change, url: url)
        }
    }
}
