/// Snapshots, and what is stale beside a newer event about the same subject.
extension Room {
    /// What marks of events about the whole room are kept under.
    static let roomSubject = ""
    /// The same for snapshots, which are about every stream. No stream's subject is without a `/`.
    static let snapshotSubject = "*"
    /// The same for snapshots that list the participants. No user's id holds a `/`.
    static let participantsSubject = "@/"

    /// Whether the event tells of a time before something that is known.
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

    /// Takes a snapshot over, but for what is known to be newer. A stream that is in it and was there goes on.
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
        // At the end: who had joined and is here by a stream alone now keeps their place.
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

    /// A snapshot without a sequence leaves the known one of the subject: later events are still compared with it.
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
