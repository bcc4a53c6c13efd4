import LayoutEngine
import MixModel
import TaskStore

@testable import RoomService

/// The facts that a room's decisions depend on, as set by a test.
struct FixedFacts: PlanningFacts {
    func playsWithoutOutputs(_ app: AppID) -> Bool { false }
    var defaultLayout = "auto"
    var outputs = [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")]
    /// Cores that are still available; `nil` means any number.
    var availableCores: Double?
    /// Layout of all rooms; `nil` means a grid.
    var layout: LayoutTemplate?
    var values = LayoutValues()

    func configuredOutputs(of room: Room) -> [PushDestination] { outputs }

    func context(for room: Room) -> PlanningContext {
        var context = PlanningContext(
            template: template(of: room), defaultOutputs: outputs, defaultCanvas: RoomCanvas(.portrait))
        context.values = values
        return context
    }

    func template(of room: Room) -> LayoutTemplate {
        (layout
            ?? LayoutTemplate(
                name: "auto", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]))
            .applying(room.settings.params ?? [:])
    }

    func shownValues(of room: Room) -> LayoutValues.Names { template(of: room).shownValues }

    func parameterImages(of room: Room) -> Set<String> { template(of: room).images(of: room.settings.params ?? [:]) }

    func advise(_ context: inout PlanningContext, on task: TaskMachine, priority: Int) {
        guard let availableCores, !task.isActive else { return }
        context.admission = Admission(availableCores: availableCores, costs: CostModel())
    }
}

/// A room without an owner. The test plays the store and the relays.
struct RoomBench {
    static let second: Int64 = 1_000_000_000
    static let automatic: TaskID = "auto-demo"

    var facts = FixedFacts()
    var state = RoomState(room: Versioned(Room(id: "demo"), version: 0), tasks: [])
    var committer = RoomCommitter()
    private var number: Int64 = 0
    private var now: Int64 = 0

    mutating func cause(_ summary: String = "test") -> Cause {
        number += 1
        now += Self.second
        return Cause(receivedAt: now, summary: summary, id: CauseID("c\(number)"))
    }

    func event(_ kind: RoomEvent.Kind, id: String = "1", time: Double? = nil) -> RoomEvent {
        RoomEvent(room: "demo", source: "test", id: id, time: time, kind: kind)
    }

    static func published(_ user: UserID) -> RoomEvent.Kind {
        .streamPublished(Publication(user: user, url: "rtmp://127.0.0.1/live/\(user)"))
    }

    func commit(_ draft: RoomDraft) -> RoomCommit {
        var draft = draft
        draft.complete(after: state.room, at: 1000)
        return RoomCommit(
            draft: draft, change: committer.change(of: draft, after: state, wallTime: 1000, nextNumber: { 7 }))
    }

    /// Applies a draft as if it had been stored.
    @discardableResult mutating func store(_ draft: RoomDraft) -> RoomCommit {
        let commit = commit(draft)
        committer.stored(commit, in: &state)
        return commit
    }

    @discardableResult mutating func apply(_ kind: RoomEvent.Kind, time: Double? = nil) -> RoomCommit {
        store(state.applying(event(kind, time: time), cause(), facts).draft)
    }

    mutating func make(
        _ task: TaskID, _ outputs: [PushDestination] = [PushDestination(id: "own", url: "rtmp://127.0.0.1/own")],
        isKeyed: Bool = false
    ) throws {
        let new = NewTask(id: task, settings: RoomSettings(outputs: outputs), isKeyed: isKeyed)
        store(try state.making(new, version: 5, madeAt: 900, cause(), facts))
    }

    func status(_ task: TaskID, absent: Set<SourceID> = []) -> RelayStatus {
        let plan = state.task(task)?.machine.document.plan
        return RelayStatus(
            task: task, processID: 9, revision: plan?.revision ?? 0, onAir: .bypass, bypassSource: nil, scene: nil,
            sources: plan?.sources.map { SourceStatus(id: $0.id, state: .live, isAbsent: absent.contains($0.id)) }
                ?? [],
            outputs: [], programTime: .seconds(1))
    }

    /// Returns a bench whose room's own program is on air.
    static func onAir() -> RoomBench {
        var bench = RoomBench()
        bench.apply(published("alice"))
        let status = bench.status(automatic)
        let records = bench.state.take(status, of: automatic, now: 0)
        bench.store(
            bench.state.changing(automatic, nil) { machine, _ in machine.relayConnected(status, now: 0) + records })
        return bench
    }

    func phase(_ task: TaskID = Self.automatic) -> TaskMachine.Phase? { state.task(task)?.machine.document.phase }
}

extension RoomDraft {
    func actions(_ task: TaskID = RoomBench.automatic) -> [TaskAction] {
        tasks.first { $0.machine.id == task }?.actions ?? []
    }

    func phase(_ task: TaskID = RoomBench.automatic) -> TaskMachine.Phase? {
        tasks.first { $0.machine.id == task }?.machine.phase
    }
}
