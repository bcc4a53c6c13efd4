import EventSubscription
import Logging
import MixModel
import Synchronization
import TaskStore

/// Owns one room and its task: takes one change after another, stores it, then has its actions performed.
///
/// Changes wait in a bounded mailbox and are taken by `run` alone, so that a decision and its storing are never
/// interleaved with another one of the same room. Reads see the last stored state.
actor RoomOwner {
    nonisolated let id: RoomID
    private(set) var room: Versioned<Room>
    private(set) var task: Versioned<TaskMachine>
    /// What the relay told last; `nil` while none is connected.
    private(set) var status: RelayStatus?
    /// Newest last, at most `Retention.switches`.
    private(set) var switches: [SwitchRecord]

    private var sourceFacts: SourceFacts
    /// Set from the request to end the relay for a shutdown until it has ended.
    private var awaitsDrain = false
    /// Nothing is started any more.
    private var isShuttingDown = false

    private let services: RoomServices
    private let logger: Logger
    private nonisolated let mailbox: AsyncStream<RoomMessage>
    private nonisolated let inbox: AsyncStream<RoomMessage>.Continuation
    private nonisolated let taskOwner: TaskOwner
    /// Requests from outside that wait in the mailbox. Only they are bounded: a relay's report must not get lost.
    private nonisolated let waiting = Mutex(0)
    /// The first cause since the layout was taken up last: a layout that changes faster than it is taken up waits once.
    private nonisolated let layoutCause = Mutex<Cause?>(nil)

    /// Requests that may wait at once.
    static let mailboxSize = 1024

    /// - Parameter task: As stored; its relay is adopted when `run` starts.
    init(
        room: Versioned<Room>, task: Versioned<TaskMachine>?, switches: [SwitchRecord], services: RoomServices
    ) {
        let id = room.document.id
        let taskID = TaskID.automatic(for: id)
        self.id = id
        self.room = room
        self.task = task ?? Versioned(TaskMachine(id: taskID, room: id), version: 0)
        self.switches = switches
        sourceFacts = task?.document.sourceFacts ?? SourceFacts()
        self.services = services
        var logger = services.logger
        logger[metadataKey: "room"] = "\(id)"
        logger[metadataKey: "task"] = "\(taskID)"
        self.logger = logger
        let (mailbox, inbox) = AsyncStream.makeStream(of: RoomMessage.self)
        self.mailbox = mailbox
        self.inbox = inbox
        taskOwner = TaskOwner(
            task: taskID, socket: services.sockets.path(of: taskID), starter: services.starter, logger: logger
        ) { inbox.yield(.relay($0)) }
    }

    // MARK: Inputs

    /// Returns when the event is stored and its actions are under way.
    nonisolated func receive(_ event: RoomEvent, at receivedAt: Int64) async throws(OrchestratorError) -> EventOutcome {
        try await ask { .event(event, receivedAt: receivedAt, $0) }
    }

    nonisolated func configure(_ settings: RoomSettings, at receivedAt: Int64) async throws(OrchestratorError) {
        try await ask { .settings(settings, receivedAt: receivedAt, $0) }
    }

    /// Forgets the room and ends its task.
    nonisolated func delete(at receivedAt: Int64) async throws(OrchestratorError) {
        try await ask { .delete(receivedAt: receivedAt, $0) }
    }

    /// - Returns: False when the task was not active.
    nonisolated func stopTask(at receivedAt: Int64) async throws(OrchestratorError) -> Bool {
        try await ask { .stopTask(receivedAt: receivedAt, $0) }
    }

    /// A layout changed; ignored unless the room uses it.
    func layoutChanged(_ name: String, cause: Cause) {
        guard layoutName == name else { return }
        let isFirst = layoutCause.withLock { waiting in
            defer { waiting = waiting ?? cause }
            return waiting == nil
        }
        if isFirst { inbox.yield(.layoutChanged) }
    }

    /// Something to be told in the task's timeline, if it is active and uses this layout.
    nonisolated func note(_ entry: TimelineEntry, ofLayout name: String) {
        inbox.yield(.layoutNote(name, entry))
    }

    /// The machine's load asks something else of the task, or lets it start.
    nonisolated func loadChanged(_ reason: String) { inbox.yield(.loadChanged(reason)) }

    /// `nil` when the room was neither made nor told of.
    var layoutName: String? { room.version > 0 ? services.layoutName(of: room.document) : nil }

    private nonisolated func ask<Answer: Sendable>(
        _ message: (Reply<Answer>) -> RoomMessage
    ) async throws(OrchestratorError) -> Answer {
        let isRoom = waiting.withLock { count in
            guard count < Self.mailboxSize else { return false }
            count += 1
            return true
        }
        guard isRoom else { throw .overloaded }
        defer { waiting.withLock { $0 -= 1 } }
        let result: Result<Answer, OrchestratorError> = await withCheckedContinuation { continuation in
            let yielded = inbox.yield(message(Reply(continuation)))
            guard case .enqueued = yielded else { return continuation.resume(returning: .failure(.stopping)) }
        }
        return try result.get()
    }

    // MARK: The loop

    /// Takes changes until `stop`. The relay stays when it ends.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { [taskOwner] in await taskOwner.run() }
            if task.version > 0 {
                let now = MonotonicClock.now()
                let context = context(for: room.document)
                await transact { room, task in task.restored(room: room, context: context, now: now) }
            }
            for await message in mailbox { await handle(message) }
            group.cancelAll()
        }
    }

    /// What waits is still done, nothing more is taken, then `run` returns.
    nonisolated func stop() { inbox.finish() }

    /// Ends the task's relay for a shutdown without changing what the room wants: the task starts again with the service.
    func drainForShutdown() -> Bool {
        guard task.document.isActive else { return false }
        awaitsDrain = true
        isShuttingDown = true
        taskOwner.perform([.drainRelay])
        return true
    }

    /// True when the relay has ended, also one that was just being started when it was told to.
    var isQuiet: Bool { !awaitsDrain }

    private func handle(_ message: RoomMessage) async {
        switch message {
        case .event(let event, let receivedAt, let reply):
            reply.answer(await handle(event, receivedAt))
        case .settings(let settings, let receivedAt, let reply):
            let cause = Cause(receivedAt: receivedAt, summary: "room settings changed")
            var changed = room.document
            changed.settings = settings
            let context = context(for: changed)
            reply.answer(
                await store { room, task in
                    room.settings = settings
                    return task.roomChanged(
                        room, context: context, cause: cause, urgency: .immediate, now: receivedAt)
                }.map { _ in })
        case .delete(let receivedAt, let reply):
            reply.answer(await delete(receivedAt))
        case .stopTask(let receivedAt, let reply):
            let wasActive = task.document.isActive
            let cause = Cause(receivedAt: receivedAt, summary: "task deleted by API")
            let result = await store { _, task in task.stopRequested(cause: cause) }
            reply.answer(result.map { _ in wasActive })
        case .layoutChanged:
            guard let cause = layoutCause.withLock({ $0.take() }) else { return }
            await replan(cause, now: cause.receivedAt)
        case .layoutNote(let name, let entry):
            guard task.document.isActive, services.layoutName(of: room.document) == name else { return }
            await transact { _, _ in [.record(entry)] }
        case .loadChanged(let reason):
            let now = MonotonicClock.now()
            await replan(Cause(receivedAt: now, summary: reason), now: now)
        case .relay(let report):
            await handle(report)
        }
    }

    private func handle(_ event: RoomEvent, _ receivedAt: Int64) async -> Result<EventOutcome, OrchestratorError> {
        let cause = Cause(receivedAt: receivedAt, summary: event.summary)
        let context = context(for: room.document)
        var outcome = RoomMachine.Outcome.unchanged
        let result = await store(event: event) { room, task in
            outcome = RoomMachine.apply(event, to: &room)
            guard outcome == .changed else { return [] }
            return task.roomChanged(room, context: context, cause: cause, urgency: .debounced, now: receivedAt)
        }
        return result.map { $0 == .duplicate ? .duplicate : outcome == .stale ? .stale : .accepted }
    }

    private func delete(_ receivedAt: Int64) async -> Result<Void, OrchestratorError> {
        let cause = Cause(receivedAt: receivedAt, summary: "room deleted by API")
        let context = context(for: room.document)
        let closing = RoomEvent(room: id, source: "api", id: "delete", kind: .roomClosed)
        let result = await store(deletesRoom: true) { room, task in
            _ = RoomMachine.apply(closing, to: &room)
            let actions = task.roomChanged(
                room, context: context, cause: cause, urgency: .immediate, now: receivedAt)
            room = Room(id: room.id)
            return actions
        }
        return result.map { _ in }
    }

    private func handle(_ report: TaskOwner.Report) async {
        let now = MonotonicClock.now()
        switch report {
        case .deadline(let token):
            guard !isShuttingDown else { return }
            let context = context(for: room.document)
            await transact { room, task in task.deadlinePassed(token, room: room, context: context, now: now) }
        case .connected(let status):
            self.status = status
            services.load.take(status, of: task.document.id)
            await transact { _, task in task.relayConnected(status, now: now) }
            await takeSources(status, now)
        case .status(let status):
            self.status = status
            services.load.take(status, of: task.document.id)
            await takeSources(status, now)
        case .switched(let record):
            switches = (switches + [record]).suffix(Retention.switches)
            let from = record.from?.rawValue ?? "nothing"
            let message =
                "on air: \(from) → \(record.to.rawValue), \(Int(record.latencyMs.rounded())) ms after the event, "
                + "video gap \(record.videoGapMs) ms"
            await transact(switches: [record]) { _, _ in
                [.record(TimelineEntry(kind: .splice, message: message, cause: record.cause))]
            }
        case .note(let code, let message):
            let message = Redaction.text(message)
            await transact { _, _ in [.record(TimelineEntry(kind: .relay, message: "\(code): \(message)"))] }
        case .lost(let reason):
            status = nil
            let reason = Redaction.text(reason)
            await transact { _, task in task.relayLost(reason, now: now) }
        case .drained:
            status = nil
            awaitsDrain = false
            let context = context(for: room.document)
            let cause = Cause(receivedAt: now, summary: "people are on air again")
            await transact { room, task in
                task.relayDrained()
                    + task.roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
            }
        }
    }

    private func context(for room: Room) -> PlanningContext {
        var context = services.context(for: room)
        context.absent = sourceFacts.absent
        context.pictureSizes = sourceFacts.pictureSizes
        services.load.advise(&context, on: task.document, priority: room.settings.policy.priority)
        return context
    }

    private func takeSources(_ status: RelayStatus, _ now: Int64) async {
        guard let changes = sourceFacts.take(status) else { return }
        await replan(Cause(receivedAt: now, summary: changes), now: now)
    }

    /// For what the room did not do itself.
    private func replan(_ cause: Cause, now: Int64) async {
        let context = context(for: room.document)
        await transact { room, task in
            task.roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
        }
    }

    // MARK: Storing

    private typealias Decision = (inout Room, inout TaskMachine) -> [TaskAction]

    /// For changes asked for from outside: not stored = not done.
    private func store(
        event: RoomEvent? = nil, deletesRoom: Bool = false, _ decide: Decision
    ) async -> Result<CommitResult, OrchestratorError> {
        var newRoom = room.document
        var newTask = task.document
        let actions = decide(&newRoom, &newTask)
        services.load.settle(newTask, priority: newRoom.settings.policy.priority)
        var change = change(to: newRoom, newTask, event: event, actions: actions)
        if deletesRoom {
            change.room = room.version > 0 ? .delete(id: id.rawValue, expected: room.version) : nil
        } else if room.version == 0 {
            change.room = .put(newRoom, expected: 0)
        }
        do {
            guard try await services.store.commit(change) == .committed else {
                services.load.settle(task.document, priority: room.document.settings.policy.priority)
                return .success(.duplicate)
            }
        } catch {
            logger.error("not stored: \(error)")
            services.load.settle(task.document, priority: room.document.settings.policy.priority)
            return .failure(OrchestratorError(error))
        }
        adopt(newRoom, newTask, change)
        taskOwner.perform(actions)
        return .success(.committed)
    }

    /// For what happens anyway (deadlines, relays): it is done even when it cannot be stored, so that a full disk does
    /// not take a program off air. The next change that is stored carries it.
    private func transact(switches: [SwitchRecord] = [], _ decide: Decision) async {
        var newRoom = room.document
        var newTask = task.document
        let actions = decide(&newRoom, &newTask)
        services.load.settle(newTask, priority: newRoom.settings.policy.priority)
        let change = change(to: newRoom, newTask, event: nil, switches: switches, actions: actions)
        do {
            _ = try await services.store.commit(change)
            adopt(newRoom, newTask, change)
        } catch {
            logger.error("not stored: \(error)")
            room.document = newRoom
            task.document = newTask
        }
        taskOwner.perform(actions)
    }

    private func change(
        to newRoom: Room, _ newTask: TaskMachine, event: RoomEvent?, switches: [SwitchRecord] = [],
        actions: [TaskAction]
    ) -> StoreChange {
        let now = wallClock()
        var timeline = actions.compactMap { action -> StampedEntry? in
            guard case .record(let entry) = action else { return nil }
            logger.info("\(entry.message)", metadata: entry.cause.map { ["cause": "\($0)"] })
            return StampedEntry(at: now, entry: entry)
        }
        if let event, newTask.isActive || !timeline.isEmpty {
            timeline.insert(StampedEntry(at: now, entry: TimelineEntry(kind: .event, message: event.summary)), at: 0)
        }
        var taskChange = StoreChange.TaskChange(id: newTask.id, timeline: timeline, switches: switches)
        if newTask != task.document { taskChange.write = .put(newTask, expected: task.version) }
        var change = StoreChange(event: event, tasks: [taskChange])
        if newRoom != room.document { change.room = .put(newRoom, expected: room.version) }
        return change
    }

    private func adopt(_ newRoom: Room, _ newTask: TaskMachine, _ change: StoreChange) {
        switch change.room {
        case .put: room = Versioned(newRoom, version: room.version + 1)
        case .delete: room = Versioned(newRoom, version: 0)
        case nil: room.document = newRoom
        }
        task = Versioned(newTask, version: task.version + (change.tasks.contains { $0.write != nil } ? 1 : 0))
    }
}
