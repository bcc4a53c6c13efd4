import MixModel

/// Decisions about operators' controls of single users. Pure.
extension RoomState {
    /// Applies a control to a user.
    ///
    /// - Returns: The draft, or `nil` if everything is already as requested.
    /// - Throws: `OrchestratorError` if there is no such room, or too many users have controls.
    func controlling(
        _ user: UserID, _ change: ParticipantControlChange, at time: Int64, number: CauseID, _ facts: some PlanningFacts
    ) throws(OrchestratorError) -> RoomDraft? {
        guard isStored else { throw .noRoom(id) }
        let before = room.document.control(of: user)
        var draft = draft(cause: number)
        guard draft.room.control(user, change) else { throw .tooManyControls(id) }
        let control = draft.room.control(of: user)
        guard let words = control.change(since: before) else { return nil }
        let cause = Cause(receivedAt: time, summary: "\(words), by API", id: number)
        draft.changeTasks { task, _ in
            guard task.isActive else { return [] }
            return [
                .record(TimelineEntry(kind: .decision, message: words, cause: cause.summary, causes: [number]))
            ]
        }
        draft.occurrences = [.participantControlChanged(control)]
        replan(&draft, cause, .immediate, facts)
        return draft
    }
}

extension OrchestratorError {
    package static func noRoom(_ room: RoomID) -> OrchestratorError {
        .notFound(
            "room", room.name, cure: "create it with PUT /v1/rooms/\(room.name), or send an event for it")
    }

    fileprivate static func tooManyControls(_ room: RoomID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-controls", "Too many users are muted, hidden or have a gain",
            detail: "\(room.name) has \(Room.mostControls) users who are muted, hidden or have a gain: "
                + "set muted, gain and hidden of one of them to null first")
    }
}
