/// Snapshots, and the recognition of events that are older than the known state.
extension Room {
    /// Subject of marks for events about the whole room.
    static let roomSubject = ""
    /// Subject of marks for snapshots, which are about every stream. Subjects of streams always contain a `/`.
    static let snapshotSubject = "*"
    /// Subject of marks for snapshots that list the participants. No user's identifier contains a `/`.
    static let participantsSubject = "@/"

    /// Returns whether the event is older than any known event that affects it.
    func knowsNewer(than event: RoomEvent) -> Bool {
        let subject = RoomMachine.subject(of: event.kind)
        switch event.kind {
        case .streamPublished(let publication): return knowsNewer(ofStream: subject, publication.user, than: event)
        case .streamUpdated(let update): return knowsNewer(ofStream: subject, update.user, than: event)
        case .streamUnpublished(let user, _, _): return knowsNewer(ofStream: subject, user, than: event)
        case .participantJoined(let user, _, _):
            return hasGone(user, after: event) || knowsNewer(ofParticipant: subject, than: event)
        case .participantLeft(let user):
            return hasGone(user, after: event) || event.time == nil && knowsNewer(ofParticipant: subject, than: event)
        case .roomOpened: return isMarked(subject, after: event)
        case .roomClosed: return hasGone(nil, after: event) || event.time == nil && isMarked(subject, after: event)
        case .roomSnapshot: return isMarked(subject, after: event) || hasGone(nil, after: event)
        }
    }

    private func knowsNewer(ofStream subject: String, _ user: UserID, than event: RoomEvent) -> Bool {
        isMarked(subject, after: event) || isMarked(Self.snapshotSubject, after: event) || hasGone(user, after: event)
    }

    private func knowsNewer(ofParticipant subject: String, than event: RoomEvent) -> Bool {
        isMarked(subject, after: event) || isMarked(Self.participantsSubject, after: event)
    }

    private func isMarked(_ subject: String, after event: RoomEvent) -> Bool {
        marks[subject]?.isNewerThan(event) ?? false
    }

    /// Applies a snapshot, except where the known state is newer. A listed stream that already existed continues.
    mutating func reconcile(with snapshot: RoomSnapshot, of event: RoomEvent) {
        if let people = snapshot.participants { reconcile(with: people, of: event) }
        let listed = Set(snapshot.streams.map(\.id))
        for stream in streams where !listed.contains(stream.id) && !isMarked(stream.id.rawValue, after: event) {
            unpublish(user: stream.user, stream: stream.stream.kind)
            markInSnapshot(stream.id.rawValue, by: event)
        }
        for stream in snapshot.streams {
            let user = stream.publication.user
            guard !knowsNewer(ofStream: stream.id.rawValue, user, than: event) else { continue }
            publish(stream.publication)
            if let name = stream.name { participants[indexOfParticipant(addingIfAbsent: user)].name = name }
            markInSnapshot(stream.id.rawValue, by: event)
        }
        // Removed last, so that participants who had joined and now only publish a stream keep their place.
        participants.removeAll { !$0.joinedExplicitly && $0.streams.isEmpty }
    }

    private mutating func reconcile(with people: [RoomSnapshot.Person], of event: RoomEvent) {
        let listed = Set(people.map(\.user))
        for person in participants where person.joinedExplicitly && !listed.contains(person.user) {
            guard !isMarked("@\(person.user)", after: event) else { continue }
            participants[indexOfParticipant(addingIfAbsent: person.user)].joinedExplicitly = false
            markInSnapshot("@\(person.user)", by: event)
        }
        for person in people where !isMarked("@\(person.user)", after: event) {
            let index = indexOfParticipant(addingIfAbsent: person.user)
            participants[index].joinedExplicitly = true
            if let role = person.role { participants[index].role = role }
            if let name = person.name { participants[index].name = name }
            markInSnapshot("@\(person.user)", by: event)
        }
        mark(Self.participantsSubject, by: event)
    }

    /// Marks a subject by a snapshot. A snapshot without a sequence keeps the subject's known sequence, with which
    /// later events are still compared.
    private mutating func markInSnapshot(_ subject: String, by event: RoomEvent) {
        guard event.sequence == nil, let known = marks[subject], let time = event.time else {
            return mark(subject, by: event)
        }
        mark(
            subject,
            EventMark(
                source: known.source, sequence: known.sequence, time: max(time, known.time ?? time),
                touched: nextTouch))
    }
}
