import EventSubscription
import MixModel
import TaskStore

/// The state of a room and its tasks. A value: its readers see a single moment and make no other code wait.
package struct RoomState: Sendable {
    package internal(set) var room: Versioned<Room>
    /// Tasks: the automatic one first, then the others in the order of their creation.
    package internal(set) var tasks: [OwnedTask]
    /// Streams of other rooms that tasks of this room use.
    var others: [RoomID: [RoomStream]] = [:]
    /// The room's services as last reported to apps.
    var serviceWatch = ServiceWatch()
    /// Whether the service is shutting down, so that nothing more is started.
    var isShuttingDown = false

    /// - Parameter tasks: Stored tasks, in any order.
    init(room: Versioned<Room>, tasks: [Versioned<TaskMachine>]) {
        self.room = room
        let id = room.document.id
        let automatic = TaskID.automatic(for: id)
        let machine = tasks.first { $0.document.id == automatic }
        let others = tasks.filter { $0.document.id != automatic }.sorted {
            ($0.document.madeAt ?? 0) < ($1.document.madeAt ?? 0)
        }
        self.tasks = ([machine ?? Versioned(TaskMachine(id: automatic, room: id), version: 0)] + others).map(
            OwnedTask.init)
    }

    package var id: RoomID { room.document.id }

    /// Whether the room is stored. A room with neither settings nor events is not.
    package var isStored: Bool { room.version > 0 }

    package func task(_ id: TaskID) -> OwnedTask? { tasks.first { $0.id == id } }

    /// Whether the room or one of its tasks is stored.
    var isAnythingStored: Bool { isStored || tasks.contains { $0.machine.version > 0 } }

    /// Returns whether the room waits for nothing, not even for ended tasks to be removed. Streams without a destination do not
    /// count as waiting.
    func isDispensable(_ facts: some PlanningFacts) -> Bool {
        !(room.document.hasStreams && facts.hasDestination(room.document))
            && tasks.allSatisfy { task in
                let machine = task.machine.document
                let isOver = !machine.isExplicit || (machine.isFinished && task.machine.version == 0)
                return isOver && !machine.isActive && !task.isUnstored
            }
    }

    /// Needs of the programs of the room and its tasks.
    func needs(_ facts: some PlanningFacts) -> ProgramNeeds.Needs {
        var needs = ProgramNeeds.Needs()
        if isStored {
            needs.add(room.document.settings, parameterImages: facts.parameterImages(of: room.document))
        }
        for task in tasks.map(\.machine.document) where task.isExplicit && !task.isFinished {
            needs.add(task.settings, parameterImages: facts.parameterImages(of: task.seen(room.document)))
        }
        return needs
    }

    /// Layouts of the room, if it is stored, and of its explicit tasks.
    func layoutNames(_ facts: some PlanningFacts) -> Set<String> {
        var names = Set(
            tasks.map(\.machine.document).filter { $0.isExplicit && !$0.isFinished }.map {
                facts.layoutName(of: $0.seen(room.document))
            })
        if isStored { names.insert(facts.layoutName(of: room.document)) }
        return names
    }

    var activeTasks: Set<TaskID> { Set(tasks.filter(\.machine.document.isActive).map(\.id)) }

    /// Outputs of the task that were given up.
    func failedOutputs(of task: TaskID) -> [OutputID] {
        (self.task(task)?.status?.outputs ?? []).destinations.filter { $0.state == .failed }.map(\.id)
    }

    /// Tasks that clients can read. `now` is in seconds since 1970.
    package func shownTasks(at now: Double) -> [OwnedTask] { tasks.filter { !$0.isForgotten(now) } }

    /// Tasks whose programs viewers of the room can watch: those on air or, when there are none, those about to be. The
    /// automatic task comes first, then the others in the order of their creation.
    package var tasksToWatch: [TaskID] {
        let onAir = tasks.filter { $0.status != nil && $0.machine.document.plan != nil }
        return (onAir.isEmpty ? tasks.filter(\.wantsProgram) : onAir).map(\.id)
    }

    /// Returns whether outputs of this kind run for the room, or are about to.
    package func expects(_ kind: (some OutputDocument).Type) -> Bool {
        tasks.contains { $0.machine.document.plan?.outputs.of(kind).isEmpty == false }
    }
}
