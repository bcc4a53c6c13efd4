import EventSubscription
import MixModel
import TaskStore

/// Messages to subscribers about a room and its tasks. They are stored with the change that they report.
extension RoomOwner {
    /// Most messages kept until the store takes them. The oldest are dropped first.
    static let mostUnstoredMessages = 200

    /// Returns messages about everything that the draft changes, after those that could not be stored before.
    func messages(for draft: RoomDraft) -> [OutboxMessage] {
        untold = []
        guard isHeard else {
            for index in tasks.indices where !tasks[index].outputChanges.isEmpty { tasks[index].outputChanges = [] }
            return unstoredMessages
        }
        let now = wallClock()
        let happenedAt = draft.event?.time ?? now
        let ofRoom = draft.room.occurrences(since: room.document).map {
            Occurrence(room: id, at: happenedAt, kind: $0)
        }
        var kinds = draft.occurrences
        for (index, task) in draft.tasks.enumerated() where !task.isForgotten || task.machine.isDisposable {
            kinds += stateChange(of: task.machine, at: index)
            kinds += task.switches.map { .taskSwitched(task.machine.id, $0) }
        }
        for index in tasks.indices { kinds += takeOutputChanges(at: index) }
        kinds += takeServiceChange()
        let occurrences = ofRoom + kinds.map { Occurrence(room: id, at: now, kind: $0) }
        untold = occurrences
        return unstoredMessages + services.subscriptions.messages(for: occurrences)
    }

    private func stateChange(of machine: TaskMachine, at index: Int) -> [Occurrence.Kind] {
        let (state, reason) = machine.reportedState
        let before = index < tasks.count ? tasks[index].machine.document.reportedState.state : nil
        guard state != before else { return [] }
        return [.taskStateChanged(machine.id, state, from: before, reason: reason, error: machine.lastError)]
    }

    // MARK: Outputs

    func watchOutputs(_ status: RelayStatus, at index: Int, _ now: Int64) {
        for output in (tasks[index].machine.document.plan?.outputs ?? []).destinations {
            tasks[index].outputURLs[output.id] = output.url
        }
        tasks[index].outputChanges += tasks[index].outputWatch.take(status.outputs.destinations, now: now)
    }

    /// Whether there is news of the task's outputs or of the room's services, and an audience for it.
    func hasNews(of task: TaskID) -> Bool {
        guard let index = tasks.firstIndex(where: { $0.id == task }) else { return false }
        guard isHeard else {
            tasks[index].outputChanges = []
            return false
        }
        return !tasks[index].outputChanges.isEmpty || hasServiceNews
    }

    /// Tells listeners of the room's feed what has been done, whether it is stored or not.
    func tellListeners() {
        guard !untold.isEmpty else { return }
        services.feeds.publish(untold, of: id, numbers: services.numbers)
        untold = []
    }

    private func takeOutputChanges(at index: Int) -> [Occurrence.Kind] {
        let changes = tasks[index].outputChanges
        tasks[index].outputChanges = []
        return changes.map { change in
            let url = tasks[index].outputURLs[change.output] ?? ""
            if change.state == .removed { tasks[index].outputURLs[change.output] = nil }
            return .outputStateChanged(tasks[index].id, change, url: url)
        }
    }
}
