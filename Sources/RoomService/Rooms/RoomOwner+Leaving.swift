import MixModel

/// The end of an owner whose room continues at another node of the cluster.
extension RoomOwner {
    /// Ends at once, because another node already has the room. Waiting requests are answered with errors, because
    /// their changes can no longer be stored.
    func abandon() async {
        gate.close()
        await end()
    }

    // MARK: Moves

    /// The feeds on air, by task, which another node must have ready before it can take over.
    var programsOnAir: [TaskID: OnAir] {
        Dictionary(
            uniqueKeysWithValues: state.tasks.compactMap { task in
                guard task.machine.document.plan != nil, let onAir = task.status?.onAir else { return nil }
                return (task.id, onAir)
            })
    }

    /// Whether a relay runs for the room, or is wanted.
    var hasPrograms: Bool { state.tasks.contains { $0.machine.document.isActive } }

    /// Holds back requests, and makes the relays stop sending at their next keyframe. Returns when nothing is being
    /// sent and the store has the programs' positions. The caller calls `goOn` or `leave` afterwards.
    ///
    /// - Returns: The reason why not everything has stopped within the limit; `nil` if everything has.
    func standDown(within limit: Duration) async -> String? {
        gate.close()
        let sending = state.tasks.filter { $0.machine.document.plan != nil }.map(\.id)
        let connected = state.tasks.filter { $0.status != nil }.map(\.id)
        performer.beginMove(of: sending)
        let end = ContinuousClock.now + limit
        while true {
            if gate.isEmpty, state.tasks.allSatisfy({ isDown($0, wasSending: sending.contains($0.id)) }) { return nil }
            if let lost = state.tasks.first(where: { connected.contains($0.id) && $0.status == nil && $0.wantsProgram })
            {
                return "the relay of \(lost.id) was lost"
            }
            guard ContinuousClock.now < end else { break }
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return "the move was cancelled" }
        }
        let names = state.tasks.filter { !isDown($0, wasSending: sending.contains($0.id)) }.map { "\($0.id)" }
        return names.isEmpty
            ? "requests to the room were not answered within \(limit)"
            : "relays did not stop within \(limit): \(names.prefix(5).joined(separator: ", "))"
    }

    /// Returns whether nothing of the task is being sent. Programs that were started since the move began wait.
    private func isDown(_ task: OwnedTask, wasSending: Bool) -> Bool {
        guard task.machine.document.isActive else { return true }
        guard wasSending else { return task.status == nil && task.machine.document.plan != nil }
        guard let status = task.status, status.isSilent else { return false }
        // A task that has ended in the meantime continues nowhere.
        guard let place = status.place, task.machine.document.plan != nil else { return true }
        return !task.isUnstored && !place.isNews(after: task.machine.document.place)
    }

    /// Admits requests and lets the relays send again, after `standDown`.
    func goOn() {
        let now = ProgramPlace(wallZero: wallClock(), noted: .zero, ahead: .zero)
        var actions: [TaskID: [TaskAction]] = [:]
        for task in state.tasks {
            guard let plan = task.machine.document.plan else { continue }
            actions[task.id] = [.resume(task.status?.place ?? now), .apply(plan)]
        }
        performer.endMove(actions)
        gate.reopen()
    }

    /// Returns the plans for preparing relays before the room arrives at this node. For an owner that is not run.
    func plansToPrepare() async -> [ProgramPlan] {
        await prepare()
        return state.restoring(cause("room moves to this node"), services).tasks.compactMap { task in
            guard let stored = state.task(task.machine.id)?.machine.document.plan,
                task.actions.contains(.launchRelay), !task.actions.contains(.drainRelay)
            else { return nil }
            var planned: ProgramPlan?
            for case .apply(let plan) in task.actions { planned = plan }
            // The revision of the stored plan, so that any plan of the room's next owner is newer or the same.
            planned?.revision = stored.revision
            return planned
        }
    }

    /// Releases the streams, images and media that `plansToPrepare` made the node load.
    func forgetNeeds() {
        if holdsNeeds { services.needs.set(ProgramNeeds.Needs(), of: id) }
        holdsNeeds = false
    }

    // MARK: The end

    /// Ends when the relays have closed their outputs, or after `RoomRegistry.drainLimit`.
    func leave() async {
        gate.close()
        performer.finishMove()
        _ = drainForShutdown()
        let limit = ContinuousClock.now + RoomRegistry.drainLimit
        while !isQuiet, ContinuousClock.now < limit {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { break }
        }
        await end()
    }

    private func end() async {
        // At once: the room may be back before its relays have ended, and all of this is its next owner's then.
        hasLeft = true
        for task in state.tasks.map(\.id) + tasksBeingStored {
            services.load.forget(task)
            services.destinations.hold([], for: task)
            services.quotas.release(task)
        }
        services.values.show([], in: id)
        forgetNeeds()
        let supervisors = performer.abandon()
        for supervisor in supervisors { await supervisor.abandon() }
        for supervisor in supervisors { await supervisor.collect() }
        // Listeners connect again, and are then passed on.
        services.listeners.end(id)
        services.news.changed(id)
        stop()
    }
}
