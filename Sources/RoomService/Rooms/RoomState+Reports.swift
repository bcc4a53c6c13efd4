import EventSubscription
import MixModel

/// Effects of relays and deadlines on a room's tasks. Pure: points in time are ns of CLOCK_MONOTONIC.
extension RoomState {
    /// Processes a relay's status.
    ///
    /// - Returns: Records about the outputs.
    mutating func take(_ status: RelayStatus, of task: TaskID, now: Int64) -> [TaskAction] {
        guard let index = tasks.firstIndex(where: { $0.id == task }) else { return [] }
        let plan = tasks[index].machine.document.plan
        tasks[index].status = status.completed(by: plan, after: tasks[index].status)
        for output in (plan?.outputs ?? []).destinations { tasks[index].outputURLs[output.id] = output.url }
        let destinations = status.outputs.destinations
        tasks[index].outputChanges += tasks[index].outputWatch.take(destinations, now: now)
        return tasks[index].outputs.take(destinations, causes: plan?.causes, now: now).map { entry in
            var entry = entry
            entry.message = Redaction.text(entry.message)
            return .record(entry)
        }
    }

    /// Records a status without reporting changes of its outputs.
    mutating func note(_ status: RelayStatus, of task: TaskID) {
        changeTask(task) { $0.status = status.completed(by: $0.machine.document.plan, after: $0.status) }
    }

    /// Processes a status's reports about sources.
    ///
    /// - Returns: The changes that require a new plan, in words; `nil` if there are none.
    mutating func takeSources(_ status: RelayStatus, of task: TaskID) -> String? {
        guard let index = tasks.firstIndex(where: { $0.id == task }) else { return nil }
        return tasks[index].sourceFacts.take(status)
    }

    /// Records that a relay has switched the program.
    func switching(_ record: SwitchRecord, of task: TaskID) -> RoomDraft? {
        let from = record.from?.rawValue ?? "nothing"
        let message =
            "on air: \(from) → \(record.to.rawValue), \(Int(saturating: record.latencyMs.rounded())) ms after the event, "
            + "video gap \(record.videoGapMs) ms"
        var draft = draft(cause: nil)
        guard let index = draft.tasks.firstIndex(where: { $0.machine.id == task }) else { return nil }
        draft.tasks[index].switches = [record]
        draft.tasks[index].actions = [
            .record(TimelineEntry(kind: .splice, message: message, cause: record.cause, causes: record.causes))
        ]
        return draft
    }

    /// Records that a relay is gone although it is wanted.
    ///
    /// - Parameter reason: The reason without secrets.
    mutating func losing(relayOf task: TaskID, reason: String, now: Int64, origin: CauseID) -> RoomDraft {
        changeTask(task) { known in
            known.status = nil
            known.outputChanges += known.outputWatch.relayLost(reason, now: now)
            known.outputs = OutputJournal()
        }
        return changing(task, origin) { machine, _ in machine.relayLost(reason, now: now, origin: origin) }
    }

    /// Records that a relay has ended as requested.
    mutating func ending(relayOf task: TaskID) {
        let streams = room.document.streams.map(\.id)
        changeTask(task) { known in
            known.status = nil
            known.sourceFacts.keep(absent: streams)
            known.awaitsDrain = false
            known.outputChanges += known.outputWatch.ended()
            known.outputs = OutputJournal()
        }
    }

    /// Lets a task decide after its relay has ended: participants may be on air again.
    func afterEnd(of task: TaskID, _ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        changing(task, cause.id) { machine, room in
            let ended = machine.relayDrained()
            return isShuttingDown ? ended : ended + replan(&machine, in: room, cause, .immediate, facts)
        }
    }

    func passing(
        _ token: DeadlineToken, of task: TaskID, now: Int64, origin: CauseID, _ facts: some PlanningFacts
    ) -> RoomDraft {
        changing(task, origin) { machine, room in
            machine.deadlinePassed(
                token, room: room, context: context(for: machine, in: room, facts), now: now, origin: origin)
        }
    }

    // MARK: Shutdown

    /// Ends the relays without changing what the room wants: its tasks start again with the service.
    ///
    /// - Returns: Tasks with relays to drain.
    mutating func shutDown() -> [TaskID] {
        isShuttingDown = true
        var active: [TaskID] = []
        for index in tasks.indices where tasks[index].machine.document.isActive {
            tasks[index].awaitsDrain = true
            active.append(tasks[index].id)
        }
        return active
    }

    /// Whether all relays that were asked to end for a shutdown have ended.
    var isQuiet: Bool { tasks.allSatisfy { !$0.awaitsDrain } }

    private mutating func changeTask(_ task: TaskID, _ change: (inout OwnedTask) -> Void) {
        guard let index = tasks.firstIndex(where: { $0.id == task }) else { return }
        change(&tasks[index])
    }
}
