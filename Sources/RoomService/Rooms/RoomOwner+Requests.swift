import EncodedMedia
import MixModel

/// Requests to a room from the rest of the service. Each returns when its change is stored and its actions are under
/// way.
extension RoomOwner {
    package nonisolated func receive(_ event: RoomEvent, at receivedAt: Int64) async throws(OrchestratorError)
        -> EventOutcome
    {
        try await take(event, at: receivedAt).outcome
    }

    /// Receives an event from a sender who reads notes.
    package nonisolated func take(_ event: RoomEvent, at receivedAt: Int64) async throws(OrchestratorError)
        -> EventReceipt
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

    /// Mutes, hides or otherwise controls a user of the room, who need not be present.
    package nonisolated func control(
        _ user: UserID, _ change: ParticipantControlChange, at receivedAt: Int64
    ) async throws(OrchestratorError) {
        try await ask { .control(user, change, receivedAt: receivedAt, $0) }
    }

    /// Deletes the room and ends its tasks.
    package nonisolated func delete(at receivedAt: Int64) async throws(OrchestratorError) {
        try await ask { .delete(receivedAt: receivedAt, $0) }
    }

    /// Deletes the room if it is empty and has no settings.
    ///
    /// - Returns: Whether the room was empty and has been deleted.
    nonisolated func forgetIfEmpty() async throws(OrchestratorError) -> Bool {
        try await ask { .forget(receivedAt: MonotonicClock.now(), $0) }
    }

    /// - Returns: False when there is nothing to stop.
    package nonisolated func stopTask(_ id: TaskID, at receivedAt: Int64) async throws(OrchestratorError) -> Bool {
        try await ask { .stopTask(id, receivedAt: receivedAt, $0) }
    }

    // MARK: Without an answer

    /// Processes a changed layout, if the room or one of its tasks uses it.
    func layoutChanged(_ name: String, cause: Cause) {
        guard state.layoutNames(services).contains(name) else { return }
        if layoutCause.withLock({ $0.keep(cause) }) { inbox.yield(.layoutChanged) }
    }

    /// Adds an entry to the timelines of the active tasks that use this layout.
    nonisolated func note(_ entry: TimelineEntry, ofLayout name: String) {
        inbox.yield(.layoutNote(name, entry))
    }

    /// Adds entries about layout images that cannot be shown to the timelines of active tasks that do not have them
    /// yet.
    nonisolated func imagesOfLayoutsFailed() { inbox.yield(.imagesOfLayoutsFailed) }

    /// Processes a change of a needed room or image. Changes that arrive faster than they are processed are merged.
    nonisolated func needsChanged(_ cause: Cause) {
        if otherCause.withLock({ $0.keep(cause) }) { inbox.yield(.needsChanged) }
    }

    /// Adds an entry to the timelines of the tasks that show this image.
    nonisolated func note(_ entry: TimelineEntry, ofImage image: String) { inbox.yield(.imageNote(image, entry)) }

    /// Adds an entry to the timelines of the active tasks.
    nonisolated func note(_ entry: TimelineEntry) { inbox.yield(.note(entry)) }

    /// Reports that the machine's load requires another plan, or allows a task to start.
    nonisolated func loadChanged(_ reason: String) { inbox.yield(.loadChanged(reason)) }

    /// Removes state that has been kept long enough. An owner that could be dropped has none.
    nonisolated func tidy() {
        if !gate.isDispensable { inbox.yield(.tidy) }
    }

    /// Makes a destination that waits for its next attempt, or was given up, retry at once.
    package func retry(_ output: OutputID, of task: TaskID) { performer.retry([output], of: task) }

    /// Makes all given-up destinations of the task retry at once.
    package func retryFailedOutputs(of task: TaskID) {
        performer.retry(state.failedOutputs(of: task), of: task)
    }

    // MARK: Reading

    /// The current state of the room and its tasks: as last stored, with the relays' reports since then.
    package var snapshot: RoomState { state }

    /// Layouts of the room, if it is stored, and of its explicit tasks.
    var layoutNames: Set<String> { state.layoutNames(services) }

    // MARK: Shutdown

    /// Ends the relays for a shutdown without changing what the room wants: its tasks start again with the service.
    ///
    /// - Returns: Whether there are relays that have not ended yet.
    func drainForShutdown() -> Bool {
        performer.endRelays(of: state.shutDown())
        return !isQuiet
    }

    /// Whether all relays have ended, including those that were just being started when they were told to end.
    var isQuiet: Bool { state.isQuiet }
}

extension Optional<Cause> {
    /// Keeps the cause if no cause is waiting yet.
    ///
    /// - Returns: Whether it was kept.
    fileprivate mutating func keep(_ cause: Cause) -> Bool {
        guard self == nil else { return false }
        self = cause
        return true
    }
}
