import EncodedMedia
import EventSubscription
import MixModel

/// Effects of relays and deadlines on a room's tasks.
extension RoomOwner {
    func handle(_ report: RelaySupervisor.Report, of task: TaskID) async {
        // Nothing is left to do for a task that was removed in the meantime.
        guard state.task(task) != nil else { return }
        let now = MonotonicClock.now()
        performer.handled(report, of: task)
        switch report {
        case .deadline(let token):
            guard !state.isShuttingDown else { return }
            await transact(state.passing(token, of: task, now: now, origin: services.numbers.nextCause(), services))
        case .connected(let status):
            let records = take(status, of: task, now)
            await transact(
                state.changing(task, nil) { machine, _ in machine.relayConnected(status, now: now) + records })
            await takeSources(status, of: task, now)
        case .status(let status) where performer.isMoving:
            // Outputs that are closed for the move are not reported.
            state.note(status, of: task)
            await notePlace(status, of: task)
        case .status(let status):
            let records = take(status, of: task, now)
            await notePlace(status, of: task)
            if !records.isEmpty || hasNews(of: task, now) {
                await transact(state.changing(task, nil) { _, _ in records })
            }
            await takeSources(status, of: task, now)
        case .switched(let record):
            meter.switched(record)
            if let draft = state.switching(record, of: task) { await transact(draft) }
        case .note(let code, let message):
            let entry = TimelineEntry(kind: .relay, message: "\(code): \(Redaction.text(message))")
            await transact(state.changing(task, services.numbers.nextCause()) { _, _ in [.record(entry)] })
        case .lost(let reason):
            meter.relayLost()
            let origin = services.numbers.nextCause()
            await transact(state.losing(relayOf: task, reason: Redaction.text(reason), now: now, origin: origin))
        case .drained:
            state.ending(relayOf: task)
            let cause = cause("participants are on air again", at: now)
            await transact(state.afterEnd(of: task, cause, services))
        }
    }

    /// - Returns: Records about the outputs.
    private func take(_ status: RelayStatus, of task: TaskID, _ now: Int64) -> [TaskAction] {
        let before = state.task(task)?.status
        meter.status(status, after: before)
        services.load.take(status, of: task)
        defer { if state.task(task)?.status.map({ $0.isOnAir(as: before) }) != true { services.news.changed(id) } }
        return state.take(status, of: task, now: now)
    }

    /// Stores the program's position, for a relay on another node.
    private func notePlace(_ status: RelayStatus, of task: TaskID) async {
        guard services.relayDeadline != nil, let place = status.place, let known = state.task(task)?.machine.document,
            known.plan != nil, place.isNews(after: known.place)
        else { return }
        await transact(
            state.changing(task, nil) { machine, _ in
                machine.relayPlaced(place)
                return []
            })
    }

    private func takeSources(_ status: RelayStatus, of task: TaskID, _ now: Int64) async {
        guard let changes = state.takeSources(status, of: task) else { return }
        await transact(state.replanning(task, cause(changes, at: now), services))
    }

    private func hasNews(of task: TaskID, _ now: Int64) -> Bool {
        if isHeard { return state.hasNews(of: task, now: now) }
        state.dropOutputChanges()
        return false
    }
}

extension RelayStatus {
    /// Returns whether the same feed is on air as in another status.
    fileprivate func isOnAir(as other: RelayStatus?) -> Bool {
        onAir == other?.onAir && bypassSource == other?.bypassSource && scene == other?.scene
    }
}
