import EncodedMedia
import EventSubscription
import MixModel
import TaskStore

/// Effects of relays and deadlines on a room's tasks.
extension RoomOwner {
    func handle(_ report: RelaySupervisor.Report, of task: TaskID) async {
        // Nothing is left to do for a task that was forgotten meanwhile.
        guard let index = tasks.firstIndex(where: { $0.id == task }) else { return }
        let now = MonotonicClock.now()
        if report.isTold { tasks[index].supervisor?.backlog.remove() }
        switch report {
        case .deadline(let token):
            guard !isShuttingDown else { return }
            let origin = services.numbers.nextCause()
            await decide(task, origin) { machine, room in
                machine.deadlinePassed(
                    token, room: room, context: context(for: machine, in: room), now: now, origin: origin)
            }
        case .connected(let status):
            let outputs = take(status, at: index, now)
            await decide(task) { machine, _ in machine.relayConnected(status, now: now) + outputs }
            await takeSources(status, of: task, now)
        case .status(let status):
            let outputs = take(status, at: index, now)
            if !outputs.isEmpty || hasNews(of: task) { await decide(task) { _, _ in outputs } }
            await takeSources(status, of: task, now)
        case .switched(let record):
            meter.switched(record)
            await take(record, of: task)
        case .note(let code, let message):
            let entry = TimelineEntry(kind: .relay, message: "\(code): \(Redaction.text(message))")
            await decide(task, services.numbers.nextCause()) { _, _ in [.record(entry)] }
        case .lost(let reason):
            meter.relayLost()
            tasks[index].status = nil
            let reason = Redaction.text(reason)
            tasks[index].outputChanges += tasks[index].outputWatch.relayLost(reason, now: now)
            let origin = services.numbers.nextCause()
            await decide(task, origin) { machine, _ in machine.relayLost(reason, now: now, origin: origin) }
            reopenLedger(task)
        case .drained:
            tasks[index].status = nil
            tasks[index].awaitsDrain = false
            tasks[index].outputChanges += tasks[index].outputWatch.ended()
            await takeEnd(of: task, now)
        }
    }

    /// Takes a relay's status.
    ///
    /// - Returns: Records about the outputs.
    private func take(_ status: RelayStatus, at index: Int, _ now: Int64) -> [TaskAction] {
        meter.status(status, after: tasks[index].status)
        let plan = tasks[index].machine.document.plan
        tasks[index].status = status.completed(by: plan, after: tasks[index].status)
        services.load.take(status, of: tasks[index].id)
        watchOutputs(status, at: index, now)
        let destinations = status.outputs.destinations
        return tasks[index].outputs.take(destinations, causes: plan?.causes, now: now).map { entry in
            var entry = entry
            entry.message = Redaction.text(entry.message)
            return .record(entry)
        }
    }

    /// Forgets what was reported of the outputs. They connect again with a new relay, and are reported again.
    private func reopenLedger(_ task: TaskID) {
        guard let index = tasks.firstIndex(where: { $0.id == task }) else { return }
        tasks[index].outputs = OutputJournal()
    }

    private func takeSources(_ status: RelayStatus, of task: TaskID, _ now: Int64) async {
        guard let index = tasks.firstIndex(where: { $0.id == task }),
            let changes = tasks[index].sourceFacts.take(status)
        else { return }
        let cause = Cause(receivedAt: now, summary: changes, id: services.numbers.nextCause())
        await decide(task, cause.id) { machine, room in
            machine.roomChanged(
                room, context: context(for: machine, in: room), cause: cause, urgency: .immediate, now: now)
        }
    }

    private func take(_ record: SwitchRecord, of task: TaskID) async {
        let from = record.from?.rawValue ?? "nothing"
        let message =
            "on air: \(from) → \(record.to.rawValue), \(Int(saturating: record.latencyMs.rounded())) ms after the event, "
            + "video gap \(record.videoGapMs) ms"
        var draft = draft(cause: nil)
        guard let index = draft.tasks.firstIndex(where: { $0.machine.id == task }) else { return }
        draft.tasks[index].switches = [record]
        draft.tasks[index].actions = [
            .record(TimelineEntry(kind: .splice, message: message, cause: record.cause, causes: record.causes))
        ]
        await transact(draft)
    }

    private func takeEnd(of task: TaskID, _ now: Int64) async {
        reopenLedger(task)
        let cause = Cause(
            receivedAt: now, summary: "participants are on air again", id: services.numbers.nextCause())
        await decide(task, cause.id) { machine, room in
            let ended = machine.relayDrained()
            guard !isShuttingDown else { return ended }
            return ended
                + machine.roomChanged(
                    room, context: context(for: machine, in: room), cause: cause, urgency: .immediate, now: now)
        }
    }

    private func decide(
        _ task: TaskID, _ cause: CauseID? = nil, _ decide: (inout TaskMachine, Room) -> [TaskAction]
    ) async {
        var draft = draft(cause: cause)
        draft.changeTask(task, decide)
        await transact(draft)
    }
}
