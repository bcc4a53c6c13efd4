import EventSubscription
import LayoutEngine
import Logging
import MixModel
import Synchronization
import TaskStore

/// Owns one room and its tasks: takes one change after another, decides it, stores the decision, then performs it.
///
/// Changes wait in a bounded mailbox, and only `run` takes them, so that no other change of the same room comes between
/// a decision and its storing. Reads see the last stored state.
package actor RoomOwner {
    package nonisolated let id: RoomID
    package let app: AppID
    /// The state of the room and its tasks, which makes the decisions.
    var state: RoomState
    var committer = RoomCommitter()
    let performer: RoomPerformer

    /// Whether the owner has been run before.
    private var isRestored = false
    /// Whether the room continues at another node, so that nothing more is stored, booked or claimed here.
    var hasLeft = false
    /// Tasks of the change that is being stored.
    var tasksBeingStored: [TaskID] = []
    /// Whether needs are registered in `ProgramNeeds`.
    var holdsNeeds = false
    /// The tasks that were active after the last message, while the room needs anything.
    var activeTasks: Set<TaskID> = []
    /// The layout of each active task, and the number of the last image failure that the task knows of; empty while all
    /// images of all layouts can be shown.
    var toldOfLayouts: [TaskID: (layout: String, number: Int)] = [:]

    let services: RoomServices
    let logger: Logger
    nonisolated let meter: RoomMeter
    private nonisolated let mailbox: AsyncStream<RoomMessage>
    nonisolated let inbox: AsyncStream<RoomMessage>.Continuation
    /// Admits requests from outside. Only these are bounded, because a relay's report must not be lost.
    nonisolated let gate = RoomGate(limit: mailboxSize)
    private let home: (any RoomHome)?
    private nonisolated let isFoldQueued = Atomic(false)
    /// Values shown by the layouts on air, as last determined.
    var shownValues: LayoutValues.Names = []
    nonisolated let areValuesQueued = Atomic(false)
    /// First cause since layouts were last processed. Changes that arrive faster than they are processed are merged.
    nonisolated let layoutCause = Mutex<Cause?>(nil)
    /// First cause since other rooms and images were last processed.
    nonisolated let otherCause = Mutex<Cause?>(nil)

    /// Maximum number of requests that wait at once.
    static let mailboxSize = 1024

    /// - Parameters:
    ///   - tasks: Stored tasks, whose relays are adopted when `run` starts.
    ///   - home: Home of the owner; `nil` for an owner that is never dropped.
    ///   - isReader: Whether the owner is only read and never run. Requests to it go to the room's owner.
    init(
        room: Versioned<Room>, tasks: [Versioned<TaskMachine>], services: RoomServices,
        home: (any RoomHome)? = nil, isReader: Bool = false
    ) {
        let id = room.document.id
        self.id = id
        app = id.app
        state = RoomState(room: room, tasks: tasks)
        for task in state.tasks.dropFirst() { _ = services.taskIndex.claim(task.id, for: id) }
        self.services = services
        self.home = home
        if isReader { gate.close() }
        var logger = services.logger
        logger[metadataKey: "app"] = "\(app)"
        logger[metadataKey: "room"] = "\(id)"
        self.logger = logger
        meter = RoomMeter(services.metrics)
        (mailbox, inbox) = AsyncStream.makeStream(of: RoomMessage.self)
        performer = RoomPerformer(of: id, services: services, logger: logger, meter: meter, inbox: inbox)
    }

    // MARK: The loop

    /// The reason why `run` returned.
    enum End {
        case stopped
        /// The owner must be run again. A Swift task keeps the memory of its deepest call, and most rooms are idle most
        /// of the time.
        case folded
    }

    /// Processes changes until `stop`, or until the owner is asked to fold. Relays continue when it ends.
    func run() async -> End {
        await withDiscardingTaskGroup { group in
            if !isRestored {
                isRestored = true
                await restore()
                startSupervisors(&group)
                rest()
            }
            for await message in mailbox {
                if case .fold = message {
                    isFoldQueued.store(false, ordering: .releasing)
                    guard performer.isIdle else { continue }
                    return .folded
                }
                gate.beginWork()
                await handle(message)
                await forgetFinishedTasks()
                startSupervisors(&group)
                rest()
            }
            group.cancelAll()
            return .stopped
        }
    }

    /// Frees the memory that the last change took, unless the owner has relays to listen to. Further calls before that
    /// have no effect.
    nonisolated func fold() {
        if !isFoldQueued.exchange(true, ordering: .acquiringAndReleasing) { inbox.yield(.fold) }
    }

    private func rest() {
        let isOffered = gate.endWork(
            isDispensable: isDispensable, isGone: !state.isAnythingStored, isLive: state.room.document.hasStreams)
        if isOffered, let home { home.offer(self) }
    }

    /// Refuses further requests if the owner is idle and can be dropped. Those requests go to the next owner. The
    /// caller calls `stop` afterwards.
    nonisolated func retire() -> Bool { gate.closeAtRest() }

    /// Whether nothing of the room was stored when the owner last became idle, so that nothing has to be kept.
    nonisolated var isGone: Bool { gate.isGone }

    /// Whether a participant was publishing in the room when the owner last became idle, so that further events are
    /// likely.
    nonisolated var isLive: Bool { gate.isLive }

    /// Ends the mailbox: waiting messages are still processed, then `run` returns.
    nonisolated func stop() { inbox.finish() }

    private func startSupervisors(_ group: inout DiscardingTaskGroup) {
        for supervisor in performer.takeNewSupervisors() { group.addTask { await supervisor.run() } }
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

    /// Whether the owner is idle and waits for nothing. The room can then be read from the store again when it is
    /// needed.
    private var isDispensable: Bool {
        layoutCause.withLock { $0 } == nil && otherCause.withLock { $0 } == nil && committer.doubt == nil
            && committer.unstoredMessages.isEmpty && state.isDispensable(services)
    }
}
