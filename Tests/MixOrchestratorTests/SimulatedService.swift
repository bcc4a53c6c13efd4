import LayoutEngine
import MixModel
import TestSupport

/// A room's owner, its store and its relay without processes and time: what is not stored is gone in a crash, and a crash
/// may come right before or right after each write, and before what was decided is done.
struct SimulatedService {
    private struct Relay {
        var plan: ProgramPlan?
    }

    private var stored: (room: Room, task: TaskMachine)
    private var room: Room
    private(set) var task: TaskMachine
    private var known: Set<String> = []
    private var relay: Relay?
    /// What was asked for when no relay was there to be told.
    private var deadlines: [(token: DeadlineToken, at: Int64)] = []
    /// The relay's answers on their way.
    private var isConnecting = false
    private var isDraining = false
    private var now: Int64 = 1_000_000_000
    private var random: SeededGenerator
    private let context: PlanningContext
    /// Answers before it has stored: what it was told last is gone in a crash. Nothing should do this.
    private let answersTooSoon: Bool
    private(set) var crashes = 0
    /// Relays that were started although one was there, or told to end although none was: none.
    private(set) var faults: [String] = []

    init(_ room: Room, context: PlanningContext, random: SeededGenerator, answersTooSoon: Bool = false) {
        self.answersTooSoon = answersTooSoon
        self.room = room
        task = TaskMachine(id: .automatic(for: room.id), room: room.id)
        stored = (room, task)
        self.context = context
        self.random = random
    }

    var storedRoom: Room { stored.room }
    var storedPlan: ProgramPlan? { stored.task.plan }

    /// Tells an event until it is answered.
    mutating func tell(_ event: RoomEvent) {
        while !receive(event) {}
        pass(Int64.random(in: 0..<400_000_000, using: &random))
    }

    private mutating func receive(_ event: RoomEvent) -> Bool {
        if known.contains(event.id) { return true }
        var newRoom = room
        var newTask = task
        let cause = Cause(receivedAt: now, summary: event.summary)
        var actions: [TaskAction] = []
        if RoomMachine.apply(event, to: &newRoom) == .changed {
            actions = newTask.roomChanged(newRoom, context: context, cause: cause, urgency: .debounced, now: now)
        }
        return commit(newRoom, newTask, actions, event: event)
    }

    /// - Returns: False when the service crashed before it could answer.
    private mutating func commit(
        _ newRoom: Room, _ newTask: TaskMachine, _ actions: [TaskAction], event: RoomEvent? = nil
    ) -> Bool {
        let fate = Int.random(in: 0..<24, using: &random)
        if fate == 0 {
            restart()
            if answersTooSoon, let event { known.insert(event.id) }
            return false
        }
        stored = (newRoom, newTask)
        if let event { known.insert(event.id) }
        if fate == 1 {
            restart()
            return false
        }
        (room, task) = stored
        perform(actions)
        return true
    }

    private mutating func restart() {
        crashes += 1
        (room, task) = stored
        deadlines = []
        isConnecting = false
        isDraining = false
        // Now and then the relay went, too.
        if Int.random(in: 0..<6, using: &random) == 0 { relay = nil }
        now += 1_000_000_000
        var newTask = task
        let actions = newTask.restored(room: room, context: context, now: now)
        _ = commit(room, newTask, actions)
    }

    private mutating func perform(_ actions: [TaskAction]) {
        for action in actions {
            switch action {
            case .launchRelay:
                relay = relay ?? Relay()
                isConnecting = true
            case .apply(let plan):
                guard relay != nil else {
                    faults.append("plan \(plan.revision) for no relay")
                    continue
                }
                if plan.revision > relay?.plan?.revision ?? 0 { relay?.plan = plan }
            case .drainRelay:
                isDraining = true
            case .scheduleDeadline(let token, let time):
                deadlines.append((token, time))
            case .record, .retryOutput, .resume, .standBy:
                break
            }
        }
    }

    /// Lets time go by, with what is due in it.
    mutating func pass(_ duration: Int64) {
        let end = now + duration
        while true {
            if isDraining {
                isDraining = false
                relay = nil
                var newTask = task
                var actions = newTask.relayDrained()
                actions += newTask.roomChanged(
                    room, context: context, cause: Cause(receivedAt: now, summary: "again"), urgency: .immediate,
                    now: now)
                _ = commit(room, newTask, actions)
            } else if isConnecting, let relay {
                isConnecting = false
                var newTask = task
                let status = RelayStatus(
                    task: task.id, processID: 7, revision: relay.plan?.revision ?? 0, onAir: nil, bypassSource: nil,
                    scene: nil, sources: [], outputs: [], programTime: .zero)
                let actions = newTask.relayConnected(status, now: now)
                _ = commit(room, newTask, actions)
            } else if let next = deadlines.min(by: { $0.at < $1.at }), next.at <= end {
                now = max(now, next.at)
                deadlines.removeAll { $0.token == next.token }
                var newTask = task
                let actions = newTask.deadlinePassed(next.token, room: room, context: context, now: now)
                _ = commit(room, newTask, actions)
            } else {
                break
            }
        }
        now = max(now, end)
    }

    /// What is wrong between the task and its relay when all is quiet; empty when nothing is.
    var relayFaults: [String] {
        var found = faults
        if task.isActive != (relay != nil) { found.append("task active: \(task.isActive), relay: \(relay != nil)") }
        if let plan = task.plan, relay?.plan != plan {
            found.append("the relay has plan \(relay?.plan?.revision ?? 0), not \(plan.revision)")
        }
        return found
    }
}
