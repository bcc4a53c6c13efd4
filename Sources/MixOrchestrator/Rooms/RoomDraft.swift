import MixModel

/// A change of a room and its tasks on its way into the store: decided, and not yet done.
struct RoomDraft {
    struct Task {
        var machine: TaskMachine
        var actions: [TaskAction] = []
        var switches: [SwitchRecord] = []
        /// The document is removed, and what is kept about it.
        var isForgotten = false
    }

    var room: Room
    /// In the owner's order; new ones at the end.
    var tasks: [Task]
    /// Told by an event that is stored with the change.
    var event: RoomEvent?
    /// What is to be told beside what the change shows.
    var occurrences: [Occurrence.Kind] = []
    /// What the change is because of.
    var cause: CauseID?
    var deletesRoom = false
    /// The room is stored even if it was not yet.
    var makesRoom = false

    /// Has every task decide, and keeps its actions.
    mutating func changeTasks(_ decide: (inout TaskMachine, Room) -> [TaskAction]) {
        for index in tasks.indices { tasks[index].actions += decide(&tasks[index].machine, room) }
    }

    mutating func changeTask(_ id: TaskID, _ decide: (inout TaskMachine, Room) -> [TaskAction]) {
        guard let index = tasks.firstIndex(where: { $0.machine.id == id }) else { return }
        tasks[index].actions += decide(&tasks[index].machine, room)
    }
}
