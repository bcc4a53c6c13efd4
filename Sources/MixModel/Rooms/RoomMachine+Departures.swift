/// Departures of participants, and the closing of a room. Both end everything that began before them and nothing that
/// began later, regardless of the order in which events arrive.
extension Room {
    /// Returns the subject that marks the last departure of a participant, or of all participants for `nil`. It is kept
    /// beside the newest event about the participant: a participant who has come back had still left before. Subjects
    /// of streams always contain a `/`, so they cannot clash with it.
    private static func departureSubject(_ user: UserID?) -> String { "-" + (user?.rawValue ?? "") }

    /// Returns whether this user, or all participants, are known to have left after the event.
    func hasGone(_ user: UserID?, after event: RoomEvent) -> Bool {
        marks[Self.departureSubject(nil)]?.isLaterThan(event) == true
            || user.map { marks[Self.departureSubject($0)]?.isLaterThan(event) == true } ?? false
    }

    /// Applies the departure of a participant. Streams that they published before it end, and are stale from now on.
    mutating func leave(_ user: UserID, by event: RoomEvent) {
        markDeparture(of: user, by: event)
        end(user, by: event)
    }

    /// Applies the closing of the room, which all participants leave. The room stays open if any later event is known.
    mutating func close(by event: RoomEvent) {
        let goesOn = marks.values.contains { $0.isLaterThan(event) }
        markDeparture(of: nil, by: event)
        participants = participants.compactMap { ended($0, by: event) }
        if !goesOn { isOpen = false }
    }

    private mutating func end(_ user: UserID, by event: RoomEvent) {
        guard let index = participants.firstIndex(where: { $0.user == user }) else { return }
        if let rest = ended(participants[index], by: event) {
            participants[index] = rest
        } else {
            participants.remove(at: index)
        }
    }

    /// Returns what remains of a participant who has left; `nil` means nothing.
    private func ended(_ participant: Participant, by event: RoomEvent) -> Participant? {
        var rest = participant
        let user = participant.user
        rest.streams.removeAll { stream in
            marks[SourceID(user: user, stream: stream.kind).rawValue]?.isLaterThan(event) != true
        }
        if marks["@\(user)"]?.isLaterThan(event) != true { rest.joinedExplicitly = false }
        return rest.streams.isEmpty && !rest.joinedExplicitly ? nil : rest
    }

    private mutating func markDeparture(of user: UserID?, by event: RoomEvent) {
        // Without a time, earlier events cannot be distinguished from later ones.
        guard let time = event.time else { return }
        let subject = Self.departureSubject(user)
        mark(
            subject,
            EventMark(
                source: event.source, sequence: nil, time: max(time, marks[subject]?.time ?? time), touched: nextTouch))
    }
}
