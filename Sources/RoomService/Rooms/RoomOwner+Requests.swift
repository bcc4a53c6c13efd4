import MixModel

/// Requests to a room from the rest of the service. Each returns when it is stored and its actions are under way.
extension RoomOwner {
    package nonisolated func receive(_ event: RoomEvent, at receivedAt: Int64) async throws(OrchestratorError)
        -> EventOutcome
    {
        try await ask { .event(event, receivedAt: receivedAt, $0) }
    }

    package nonisolated func make(_ task: NewTask, at receivedAt: Int64) async throws(OrchestratorError) -> TaskCreation
    {
        try await ask { .make(task, receivedAt: receivedAt, $0) }
    }

    package nonisolated func configure(
        _ change: SettingsChange, at receivedAt: Int64
    ) async throws(OrchestratorError) -> SettingsOutcome {
        try await ask { .settings(change, receivedAt: receivedAt, $0) }
    }

    /// Forgets the room and ends its tasks.
    package nonisolated func delete(at receivedAt: Int64) async throws(OrchestratorError) {
        try await ask { .delete(receivedAt: receivedAt, $0) }
    }

    /// - Returns: False when there is nothing to stop.
    package nonisolated func stopTask(_ id: TaskID, at receivedAt: Int64) async throws(OrchestratorError) -> Bool {
        try await ask { .stopTask(id, receivedAt: receivedAt, $0) }
    }

    /// Takes note of a changed layout, if the room or one of its tasks uses it.
    func layoutChanged(_ name: String, cause: Cause) {
        guard layoutNames.contains(name) else { return }
        let isFirst = layoutCause.withLock { waiting in
            defer { waiting = waiting ?? cause }
            return waiting == nil
        }
        if isFirst { inbox.yield(.layoutChanged) }
    }

    /// Adds an entry to the timelines of the active tasks that use this layout.
    nonisolated func note(_ entry: TimelineEntry, ofLayout name: String) {
        inbox.yield(.layoutNote(name, entry))
    }

    /// Removes what has been kept long enough. An owner that could be dropped keeps nothing.
    nonisolated func tidy() {
        if !gate.isDispensable { inbox.yield(.tidy) }
    }

    /// Layouts of the room, if it is stored, and of its explicit tasks.
    var layoutNames: Set<String> {
        var names = Set(
            tasks.map(\.machine.document).filter { $0.isExplicit && !$0.isFinished }.map {
                services.layoutName(of: $0.seen(room.document))
            })
        if let layoutName { names.insert(layoutName) }
        return names
    }

    /// Layout of the room; `nil` when the room is not stored.
    var layoutName: String? { room.version > 0 ? services.layoutName(of: room.document) : nil }

    func task(_ id: TaskID) -> OwnedTask? { state.task(id) }

    // MARK: Shutdown

    /// Ends the relays for a shutdown without changing what the room wants: its tasks start again with the service.
    ///
    /// - Returns: Whether there are relays that have not ended yet.
    func drainForShutdown() -> Bool {
        isShuttingDown = true
        for index in tasks.indices where tasks[index].machine.document.isActive {
            tasks[index].awaitsDrain = true
            perform([.drainRelay], of: tasks[index].id)
        }
        return !isQuiet
    }

    /// Whether all relays have ended, including those that were just being started when they were told to end.
    var isQuiet: Bool { tasks.allSatisfy { !$0.awaitsDrain } }
}
