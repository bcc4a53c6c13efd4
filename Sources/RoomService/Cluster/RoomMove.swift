import EncodedMedia
import MixModel
import TaskStore

/// Moves one room to another node by performing the actions of `MoveMachine`.
struct RoomMove {
    /// Timeout for the receiver's preparation: longer than it allows itself (`ArrivalMachine.preparation`).
    static let preparation: Duration = .seconds(20)
    /// Timeout for the relays to stop: longer than their wait for a keyframe (`ProgramStandby.patience`) plus closing.
    static let stopping: Duration = .seconds(10)
    /// Timeout for an order that is only a hint.
    static let hint: Duration = .seconds(5)
    /// Time between two questions to a store that does not answer.
    static let pause: Duration = .milliseconds(200)

    let room: RoomID
    let receiver: Node
    let profile: NodeProfile
    let node: ClusterNode
    let registry: RoomRegistry
    let messenger: any MoveMessenger
    /// Time after which the move stops waiting for the receiver; `nil` = never.
    let end: ContinuousClock.Instant?
    /// The room's owner, which has released the room.
    private var owner: RoomOwner?
    /// Whether this move, and no other, holds the room back.
    private var hasLeft = false

    init(
        _ room: RoomID, to receiver: Node, _ profile: NodeProfile, from node: ClusterNode, _ registry: RoomRegistry,
        _ messenger: any MoveMessenger, until end: ContinuousClock.Instant? = nil
    ) {
        self.end = end
        self.room = room
        self.receiver = receiver
        self.profile = profile
        self.node = node
        self.registry = registry
        self.messenger = messenger
    }

    mutating func run() async -> MoveMachine.Outcome {
        var move = MoveMachine()
        var actions = [MoveMachine.beginning]
        while true {
            var event: MoveMachine.Event?
            for action in actions { event = await perform(action) }
            if let outcome = move.outcome { return outcome }
            guard let event else { return .lost }
            let deadline = node.machine.withLock { $0.deadline(of: room) }
            actions = move.take(event, at: BootClock.now(), deadline: deadline)
        }
    }

    private mutating func perform(_ action: MoveMachine.Action) async -> MoveMachine.Event? {
        switch action {
        case .prepare:
            let onAir = await registry.programsOnAir(of: room)
            let order = MoveOrder(.prepare, room, onAir: onAir)
            let limit = end.map { min(Self.preparation, max($0 - ContinuousClock.now, .zero)) } ?? Self.preparation
            return switch await messenger.send(order, to: profile, within: limit) {
            case .done where node.shutdown.hasBegun: .refused("this node stops")
            case .done: .prepared
            case .refused(let reason): .refused(reason)
            case .unsupported: .unsupported
            }
        case .stop: return await stop()
        case .pass:
            return await ask(passingTo: receiver.id)
        case .reclaim:
            let event = await ask(passingTo: node.id)
            if case .unanswered = event { try? await Task.sleep(for: Self.pause) }
            return event
        case .goOn: await goOn()
        case .tell: _ = await messenger.send(MoveOrder(.take, room), to: profile, within: Self.hint)
        case .cancel: _ = await messenger.send(MoveOrder(.cancel, room), to: profile, within: Self.hint)
        case .end:
            _ = node.machine.withLock { $0.left(room) }
            node.directory.forget(room)
            await node.departed(room)
            await owner?.leave()
        }
        return nil
    }

    private mutating func stop() async -> MoveMachine.Event {
        // The owner of a room without programs may have been dropped.
        _ = try? await registry.existingOwner(room)
        guard node.machine.withLock({ $0.leave(room) }) else { return .notStopped("the room is leaving, or was lost") }
        hasLeft = true
        guard let owner = registry.beginMove(room) else { return .notStopped("the room is not in memory") }
        self.owner = owner
        if let reason = await owner.standDown(within: Self.stopping) { return .notStopped(reason) }
        let belongings = node.belongings.withLock { $0 }
        if let reason = await belongings?.handOver(room, to: profile) { return .notStopped(reason) }
        return .stopped
    }

    private func ask(passingTo receiver: NodeID) async -> MoveMachine.Event {
        guard let lease = node.machine.withLock({ $0.lease(of: room) }) else { return .answered(.notHeld) }
        do {
            let outcome = try await node.base.pass(lease, to: receiver)
            if case .passed(let passed) = outcome {
                node.machine.withLock { machine in
                    if receiver == machine.node { machine.reclaimed(passed) } else { _ = machine.left(room) }
                }
                node.directory.note(receiver, of: room, at: BootClock.now())
            }
            return .answered(outcome)
        } catch {
            return .unanswered("\(error)")
        }
    }

    /// Lets the room continue here, unless it was lost.
    private func goOn() async {
        guard hasLeft else { return }
        // The owner is found again before the room takes requests, so that no second owner is made.
        if let owner {
            if node.has(room), registry.endMove(owner) { await owner.goOn() } else { await owner.leave() }
        }
        _ = node.machine.withLock { $0.stay(room) }
        await node.belongings.withLock { $0 }?.stay(room)
    }
}
