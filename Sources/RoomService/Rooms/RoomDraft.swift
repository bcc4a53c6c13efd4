import MixModel
import TaskStore

/// A change of a room and its tasks that has been decided, but neither stored nor performed.
struct RoomDraft {
    struct Task {
        var machine: TaskMachine
        var actions: [TaskAction] = []
        var switches: [SwitchRecord] = []
        /// Whether the document is removed, with everything kept about it.
        var isForgotten = false
    }

    var room: Room
    /// Tasks in the owner's order, with new ones at the end.
    var tasks: [Task]
    /// Event that caused the change and is stored with it.
    var event: RoomEvent?
    /// Occurrences to be reported in addition to those that follow from the change itself.
    var occurrences: [Occurrence.Kind] = []
    /// Cause of the change.
    var cause: CauseID?
    var deletesRoom = false
    /// Whether the room is stored even if it was not stored before.
    var makesRoom = false

    /// Applies `decide` to every task, and keeps the resulting actions.
    mutating func changeTasks(_ decide: (inout TaskMachine, Room) -> [TaskAction]) {
        for index in tasks.indices { tasks[index].actions += decide(&tasks[index].machine, room) }
    }

    mutating func changeTask(_ id: TaskID, _ decide: (inout TaskMachine, Room) -> [TaskAction]) {
        guard let index = tasks.firstIndex(where: { $0.machine.id == id }) else { return }
        tasks[index].actions += decide(&tasks[index].machine, room)
    }

    /// Completes the draft: ended tasks get their end time, and what is no longer needed is removed.
    ///
    /// - Parameter wallTime: Current time in seconds since 1970.
    mutating func complete(after old: Versioned<Room>, at wallTime: Double) {
        for index in tasks.indices {
            if tasks[index].machine.isFinished, tasks[index].machine.finishedAt == nil {
                tasks[index].machine.finishedAt = wallTime
            }
            if tasks[index].machine.isDisposable { tasks[index].isForgotten = true }
        }
        // A room that existed only for its tasks is removed with the last of them.
        if tasks.contains(where: \.isForgotten), old.version > 0, room.isBlank,
            tasks.allSatisfy({ $0.isForgotten || !($0.machine.isExplicit || $0.machine.isActive) })
        {
            deletesRoom = true
        }
    }

    /// Returns the timeline entries of a task. The event comes first.
    func entries(of task: Task) -> [TimelineEntry] {
        let causes = cause.map { [$0] }
        var entries = task.actions.compactMap { if case .record(let entry) = $0 { entry } else { nil } }
        for index in entries.indices { entries[index].causes = entries[index].causes ?? causes }
        if let event, task.machine.isActive || !entries.isEmpty {
            let reference = EventReference(source: event.source, id: event.id)
            entries.insert(
                TimelineEntry(kind: .event, message: event.account, causes: causes, event: reference), at: 0)
        }
        return entries
    }
}
