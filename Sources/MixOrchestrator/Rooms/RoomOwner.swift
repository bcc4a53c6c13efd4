import EventSubscription
import Logging
import MixModel
import Synchronization
import TaskStore

/// Owns one room and its tasks: takes one change after another, stores it, then has its actions performed.
///
/// Changes wait in a bounded mailbox and are taken by `run` alone, so that a decision and its storing are never
/// interleaved with another one of the same room. Reads see the last stored state.
actor RoomOwner {
    nonisolated let id: RoomID
    let app: AppID
    let quotas: Quotas
    var room: Versioned<Room>
    /// The automatic one first, then in the order in which they were made.
    var tasks: [OwnedTask]

    /// It has been run before.
    private var isRestored = false
    /// Nothing is started any more.
    var isShuttingDown = false
    /// Tasks that were to be stored when the store failed; `nil` = what is in memory is what is stored.
    var doubt: Set<TaskID>?
    /// Messages that could not be stored; the next change that can be carries them.
    var unstoredMessages: [OutboxMessage] = []
    /// What apps were told of the room's services.
    var serviceWatch = ServiceWatch()
    /// What listeners of the room's feed are told once the change that it tells of is done.
    var untold: [Occurrence] = []
    /// Owners of tasks that `run` has to run.
    var newTaskOwners: [TaskOwner] = []

    /// Who publishes in the other rooms that tasks take streams from.
    var others: [RoomID: [RoomStream]] = [:]
    var holdsNeeds = false

    let services: RoomServices
    let logger: Logger
    nonisolated let meter: RoomMeter
    private nonisolated let mailbox: AsyncStream<RoomMessage>
    nonisolated let inbox: AsyncStream<RoomMessage>.Continuation
    /// For requests from outside. Only they are bounded: a relay's report must not get lost.
    nonisolated let gate = RoomGate(limit: mailboxSize)
    private let home: (any RoomHome)?
    private nonisolated let isFoldQueued = Atomic(false)
    /// The first cause since the layouts were taken up last: one that changes faster than it is taken up waits once.
    nonisolated let layoutCause = Mutex<Cause?>(nil)
    /// The same of other rooms and of images.
    nonisolated let otherCause = Mutex<Cause?>(nil)

    /// Requests that may wait at once.
    static let mailboxSize = 1024
    /// Explicit tasks of one room that have not ended for good.
    static let mostTasks = 16

    /// - Parameters:
    ///   - tasks: As stored; their relays are adopted when `run` starts.
    ///   - home: `nil` for an owner that is never dropped.
    ///   - isReader: It is only looked at, and never run: requests go to the room's owner.
    init(
        room: Versioned<Room>, tasks: [Versioned<TaskMachine>], services: RoomServices,
        home: (any RoomHome)? = nil, isReader: Bool = false
    ) {
        let id = room.document.id
        let automatic = TaskID.automatic(for: id)
        self.id = id
        app = id.app
        quotas = services.quotas.quotas.of(app)
        self.room = room
        let machine = tasks.first { $0.document.id == automatic }
        let others = tasks.filter { $0.document.id != automatic }.sorted {
            ($0.document.madeAt ?? 0) < ($1.document.madeAt ?? 0)
        }
        self.tasks = ([machine ?? Versioned(TaskMachine(id: automatic, room: id), version: 0)] + others).map(
            OwnedTask.init)
        for task in others { _ = services.taskIndex.claim(task.document.id, for: id) }
        self.services = services
        self.home = home
        if isReader { gate.close() }
        var logger = services.logger
        logger[metadataKey: "app"] = "\(app)"
        logger[metadataKey: "room"] = "\(id)"
        self.logger = logger
        meter = RoomMeter(services.metrics)
        (mailbox, inbox) = AsyncStream.makeStream(of: RoomMessage.self)
    }

    // MARK: The loop

    /// Why `run` returned.
    enum End {
        case stopped
        /// To be run again. A task keeps the memory of its deepest call, and most rooms wait most of the time.
        case folded
    }

    /// Takes changes until `stop`, or until it is asked to fold. The relays stay when it ends.
    func run() async -> End {
        await withDiscardingTaskGroup { group in
            if !isRestored {
                isRestored = true
                await restore()
                startTaskOwners(&group)
                rest()
            }
            for await message in mailbox {
                if case .fold = message {
                    isFoldQueued.store(false, ordering: .releasing)
                    guard tasks.allSatisfy({ $0.owner == nil }) else { continue }
                    return .folded
                }
                gate.beginWork()
                await handle(message)
                await forgetFinishedTasks()
                startTaskOwners(&group)
                rest()
            }
            group.cancelAll()
            return .stopped
        }
    }

    /// Gives back the memory that the last change took, unless more wait or relays have to be heard.
    /// Asking again before that happened changes nothing.
    nonisolated func fold() {
        if !isFoldQueued.exchange(true, ordering: .acquiringAndReleasing) { inbox.yield(.fold) }
    }

    private func rest() {
        let isGone = room.version == 0 && tasks.allSatisfy { $0.machine.version == 0 }
        let isLive = room.document.hasStreams
        if gate.endWork(isDispensable: isDispensable, isGone: isGone, isLive: isLive), let home { home.offer(self) }
    }

    /// Takes no request from now on, if it is at rest and can be dropped; they go to the next owner. `stop` follows.
    nonisolated func retire() -> Bool { gate.closeAtRest() }

    /// Nothing of the room was stored when it last came to rest: there is nothing to come back to.
    nonisolated var isGone: Bool { gate.isGone }

    /// Somebody published in the room when it last came to rest: more is likely to happen in it.
    nonisolated var isLive: Bool { gate.isLive }

    /// What waits is still done, nothing more is taken, then `run` returns.
    nonisolated func stop() { inbox.finish() }

    /// The machine's load asks something else of the tasks, or lets one start.
    nonisolated func loadChanged(_ reason: String) { inbox.yield(.loadChanged(reason)) }

    private func startTaskOwners(_ group: inout DiscardingTaskGroup) {
        for owner in newTaskOwners { group.addTask { await owner.run() } }
        newTaskOwners = []
    }

    /// Sends a request through the mailbox and waits for its answer.
    nonisolated func ask<Answer: Sendable>(
        _ message: (Reply<Answer>) -> RoomMessage
    ) async throws(OrchestratorError) -> Answer {
        switch gate.enter() {
        case .admitted: break
        case .full: throw .overloaded
        case .closed:
            guard let next = try await home?.successor(of: self) else { throw .stopping }
            return try await next.ask(message)
        }
        defer { gate.leave() }
        let result: Result<Answer, OrchestratorError> = await withCheckedContinuation { continuation in
            let yielded = inbox.yield(message(Reply(continuation)))
            guard case .enqueued = yielded else { return continuation.resume(returning: .failure(.stopping)) }
        }
        return try result.get()
    }

    /// Nothing happens here and nothing is awaited, also not that ended tasks are forgotten: the room can be taken from
    /// the store again when it is needed. Streams that go nowhere need nobody.
    private var isDispensable: Bool {
        layoutCause.withLock { $0 } == nil && otherCause.withLock { $0 } == nil && doubt == nil
            && unstoredMessages.isEmpty && !(room.document.hasStreams && services.hasDestination(room.document))
            && tasks.allSatisfy { task in
                let machine = task.machine.document
                let isOver = !machine.isExplicit || (machine.isFinished && task.machine.version == 0)
                return isOver && !machine.isActive && !task.isUnstored
            }
    }
}
