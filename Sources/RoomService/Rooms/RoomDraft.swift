import MixModel

/// A change of a room and its tasks that is decided, but neither stored nor performed.
struct RoomDraft {
    struct Task {
        var machine: TaskMachine
        var actions: [TaskAction] = []
        var switches: [SwitchRecord] = []
        /// Whether the document is removed, with everything that is kept about it.
        var isForgotten = false
    }

    var room: Room
    /// Tasks in the owner's order, with new ones at the end.
    var tasks: [Task]
    /// Event that caused the change and is stored with it.
    var event: RoomEvent?
    /// Occurrences to be told in addition to those that the change shows.
    var occurrences: [Occurrence.Kind] = []
    /// Cause of the change.
    var cause: CauseID?
    var deletesRoom = false
    /// Whether the room is stored even if it was not stored before.
    var makesRoom = false

    /// Lets every task decide, and keeps its actions.
    mutating func changeTasks(_ decide: (inout TaskMachine, Room) -> [TaskAction]) {
        for index in tasks.indices { tasks[index].actions += decide(&tasks[index].machine, room) }
    }

    mutating func changeTask(_ id: TaskID, _ decide: (inout TaskMachine, Room) -> [TaskAction]) {
        guard let index = tasks.firstIndex(where: { $0.machine.id == id }) else { return }
        tasks[index].actions += decide(&tasks[index].machine, room)
    }
}
