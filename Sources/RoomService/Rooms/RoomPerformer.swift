import EncodedMedia
import Logging
import MixModel

/// Performs decisions: runs relays, holds destinations, notifies listeners and other rooms. Makes no decisions. Belongs
/// to its room's owner.
///
/// A class, because the owner would copy a value for every call.
final class RoomPerformer {
    private let services: RoomServices
    private let logger: Logger
    private let meter: RoomMeter
    private let inbox: AsyncStream<RoomMessage>.Continuation
    private let room: RoomID

    /// Supervisors of relays. Each is created with the first action for its task.
    private var supervisors: [TaskID: RelaySupervisor] = [:]
    /// Supervisors that have yet to be run.
    private var newSupervisors: [RelaySupervisor] = []
    /// The claims last passed to `DestinationClaims`.
    private var claims: [TaskID: Claim] = [:]
    /// Whether relays end for a shutdown, so that none is started any more.
    private var isEnding = false
    /// Whether the room continues at another node, so that nothing is performed here any more.
    private var isAbandoned = false
    /// Actions decided during a move, which wait for its end; `nil` outside of moves.
    private var postponed: [(task: TaskID, actions: [TaskAction])]?

    /// The destinations to which a task may push; `nil` outputs = the configured ones.
    private struct Claim: Hashable {
        var pushes: Bool
        var outputs: [PushDestination]?
    }

    /// - Parameter inbox: Mailbox of the room, which receives the relays' reports.
    init(
        of room: RoomID, services: RoomServices, logger: Logger, meter: RoomMeter,
        inbox: AsyncStream<RoomMessage>.Continuation
    ) {
        self.room = room
        self.services = services
        self.logger = logger
        self.meter = meter
        self.inbox = inbox
    }

    /// Whether there are no relays to listen to.
    var isIdle: Bool { supervisors.isEmpty }

    /// Performs a draft.
    ///
    /// - Parameter state: The state with the draft applied.
    func perform(_ commit: RoomCommit, in state: RoomState) {
        services.listeners.publish(commit.occurrences, of: state.id, numbers: services.numbers)
        if commit.draft.deletesRoom { services.listeners.end(state.id) }
        services.news.changed(state.id)
        services.pageNews.changed(state.id)
        services.viewerNews.changed(state.id)
        holdOutputs(of: state)
        for task in commit.draft.tasks { perform(task.actions, of: task.machine.id) }
    }

    /// Releases the identifiers of tasks whose documents were deleted because they ended permanently.
    func releaseDeleted(_ commit: RoomCommit) {
        for change in commit.change.tasks {
            guard case .delete = change.write,
                commit.draft.tasks.contains(where: { $0.machine.id == change.id && $0.machine.isFinished })
            else { continue }
            services.taskIndex.release(change.id)
        }
    }

    /// Logs the timeline entries of a draft.
    func log(_ draft: RoomDraft) {
        for task in draft.tasks {
            for case .record(let entry) in task.actions {
                var metadata: Logger.Metadata = ["task": "\(task.machine.id)"]
                if let cause = entry.cause { metadata["cause"] = "\(cause)" }
                if let event = draft.event { metadata["event"] = "\(event.id)" }
                logger.info("\(entry.message)", metadata: metadata)
            }
        }
    }

    // MARK: Relays

    /// Performs a task's actions. Records were stored with the decision itself.
    func perform(_ actions: [TaskAction], of task: TaskID) {
        let actions = actions.filter { action in
            switch action {
            case .record: false
            case .launchRelay: !isEnding
            default: true
            }
        }
        guard !actions.isEmpty, !isAbandoned else { return }
        guard postponed == nil else {
            postponed?.append((task, actions))
            return
        }
        for action in actions {
            switch action {
            case .apply(let plan): services.overlays.show(plan.scene, by: task)
            case .drainRelay: services.overlays.show(nil, by: task)
            default: break
            }
        }
        let supervisor = supervisors[task] ?? makeSupervisor(of: task)
        supervisor.perform(actions)
    }

    /// Ends these relays for a shutdown.
    func endRelays(of tasks: [TaskID]) {
        isEnding = true
        for task in tasks { perform([.drainRelay], of: task) }
    }

    // MARK: Moves

    /// Whether the room is moving to another node.
    var isMoving: Bool { postponed != nil }

    /// Postpones further actions, and makes these relays stop: nothing may start or send any more.
    func beginMove(of tasks: [TaskID]) {
        postponed = []
        for task in tasks { supervisors[task]?.perform([.standBy]) }
    }

    /// Lets the relays continue, and performs the postponed actions.
    func endMove(_ actions: [TaskID: [TaskAction]]) {
        let waiting = postponed ?? []
        postponed = nil
        for (task, actions) in actions { perform(actions, of: task) }
        for (task, actions) in waiting { perform(actions, of: task) }
    }

    /// Discards the postponed actions, because another node decides anew.
    func finishMove() { postponed = nil }

    /// Makes outputs that wait for their next attempt, or were given up, retry at once. Nothing is stored: a relay that
    /// starts in the meantime tries by itself.
    func retry(_ outputs: [OutputID], of task: TaskID) {
        supervisors[task]?.perform(outputs.map { .retryOutput($0) })
    }

    /// Records that a report of the task's relay has been handled.
    func handled(_ report: RelaySupervisor.Report, of task: TaskID) {
        if report.isTold { supervisors[task]?.backlog.remove() }
    }

    /// Removes and returns the supervisors that have yet to be run.
    func takeNewSupervisors() -> [RelaySupervisor] {
        defer { newSupervisors = [] }
        return newSupervisors
    }

    /// Releases everything held for a task that is removed.
    func forget(_ task: TaskID) {
        services.taskIndex.release(task)
        services.overlays.show(nil, by: task)
        supervisors.removeValue(forKey: task)?.finish()
        claims[task] = nil
    }

    /// Stops performing actions.
    ///
    /// - Returns: The supervisors, whose relays have to be ended.
    func abandon() -> [RelaySupervisor] {
        isAbandoned = true
        for task in supervisors.keys { services.overlays.show(nil, by: task) }
        defer { supervisors = [:] }
        return Array(supervisors.values)
    }

    private func makeSupervisor(of task: TaskID) -> RelaySupervisor {
        var logger = logger
        logger[metadataKey: "task"] = "\(task)"
        var deadline: (@Sendable () -> Int64)?
        if let limit = services.relayDeadline { deadline = { [room] in limit(room) } }
        let supervisor = RelaySupervisor(
            task: task, socket: services.sockets.path(of: task), starter: services.starter,
            starts: services.relayStarts, deadline: deadline, prepared: services.preparedRelays, logger: logger,
            onTold: { [meter] in meter.sent($0, of: task) }
        ) { [inbox] in inbox.yield(.relay(task, $0)) }
        supervisors[task] = supervisor
        newSupervisors.append(supervisor)
        return supervisor
    }

    // MARK: Destinations

    /// Claims the destinations of the tasks.
    func holdOutputs(of state: RoomState) {
        for task in state.tasks { holdOutputs(of: task.machine.document, in: state) }
    }

    /// Releases the destinations that were claimed for a change that was not stored.
    func releaseUnused(_ task: TaskID, in state: RoomState) {
        claims[task] = nil
        if let known = state.task(task) {
            holdOutputs(of: known.machine.document, in: state)
        } else {
            services.destinations.hold([], for: task)
        }
    }

    private func holdOutputs(of machine: TaskMachine, in state: RoomState) {
        guard !isAbandoned else { return }
        let room = state.room.document
        let pushes = machine.isExplicit ? !machine.isFinished : state.isStored || machine.isActive
        let claim = Claim(pushes: pushes, outputs: (machine.settings ?? room.settings).outputs)
        guard claims[machine.id] != claim else { return }
        claims[machine.id] = claim
        let outputs = pushes ? services.outputs(of: machine.seen(room)) : []
        guard let conflict = services.destinations.hold(outputs, for: machine.id) else { return }
        logger.warning(
            "two tasks push to the same destination",
            metadata: ["task": "\(machine.id)", "other": "\(conflict.holder)", "output": "\(conflict.output)"])
    }

    // MARK: Other rooms

    /// Notifies the rooms that use streams of this one. Call when the change is stored.
    func tellOthers(of room: Room, before: Room) {
        guard services.needs.isWatched(room.id), !room.offersTheSame(as: before) else { return }
        services.needs.changed(
            room.id, cause: Cause(receivedAt: MonotonicClock.now(), summary: "streams of room \(room.id.name) changed"))
    }
}
