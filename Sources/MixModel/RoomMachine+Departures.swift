/// Leaving and closing end what was there before them, and nothing that began later, in whatever order events arrive.
extension Room {
    /// When somebody left last; `nil` for everybody at once. Kept beside the newest event about them: who has come back
    /// since then had left all the same. No stream's subject is without a `/`.
    private static func departureSubject(_ user: UserID?) -> String { "-" + (user?.rawValue ?? "") }

    /// Whether everybody, or this user, is known to have gone after the event.
    func hasGone(_ user: UserID?, after event: RoomEvent) -> Bool {
        marks[Self.departureSubject(nil)]?.isLaterThan(event) == true
            || user.map { marks[Self.departureSubject($0)]?.isLaterThan(event) == true } ?? false
    }

    /// Somebody has left: what they published before that ends, and is stale from now on.
    mutating func leave(_ user: UserID, by event: RoomEvent) {
        markDeparture(of: user, by: event)
        end(user, by: event)
    }

    /// Everybody has left. The room stays open when something is known to have happened later.
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

    /// What is left of somebody who has left; `nil` = nothing.
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
        // Without a time nothing of before can be told from what comes later.
        guard let time = event.time else { return }
        let subject = Self.departureSubject(user)
        mark(
            subject,
            EventMark(
                source: event.source, sequence: nil, time: max(time, marks[subject]?.time ?? time), touched: nextTouch))
    }
}
