import LayoutEngine
import MixModel
import TestSupport

/// A room's owner with its store and relay, without processes and real time. A crash loses everything that is not
/// stored. It may come right before or right after each write, and before decisions are carried out.
struct SimulatedService {
    private struct Relay {
        var plan: ProgramPlan?
    }

    private var stored: (room: Room, task: TaskMachine)
    private var room: Room
    private(set) var task: TaskMachine
    private var known: Set<String> = []
    private var relay: Relay?
    /// The deadlines that have not passed yet.
    private var deadlines: [(token: DeadlineToken, at: Int64)] = []
    /// Whether the relay's answers are on their way.
    private var isConnecting = false
    private var isDraining = false
    private var now: Int64 = 1_000_000_000
    private var random: SeededGenerator
    private let context: PlanningContext
    /// Whether events are answered before they are stored, so that a crash can lose an answered event. A correct
    /// service never does this.
    private let answersTooSoon: Bool
    private(set) var crashes = 0
    /// The faulty commands: relays started while one was running, or ended while none was.
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

    /// Sends an event until it is answered.
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

    /// - Returns: False if the service crashed before it could answer.
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
        // The relay sometimes ends too.
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

    /// Advances the time, and performs the work that becomes due.
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

    /// The contradictions between the task and its relay once all is quiet; empty if there are none.
    var relayFaults: [String] {
        var found = faults
        if task.isActive != (relay != nil) { found.append("task active: \(task.isActive), relay: \(relay != nil)") }
        if let plan = task.plan, relay?.plan != plan {
            found.append("the relay has plan \(relay?.plan?.revision ?? 0), not \(plan.revision)")
        }
        return found
    }
}
