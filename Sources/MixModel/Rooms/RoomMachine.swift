/// Applies events to a room. Pure: no clock, no I/O.
public enum RoomMachine {
    /// The effect of an event.
    public enum Outcome: Hashable, Sendable {
        /// The room has changed.
        case changed
        /// The event was in order but contained nothing new.
        case unchanged
        /// A newer event about the subject is known, so nothing has changed.
        case stale
    }

    /// Applies one event to `room`. An event of another room is a programming error and changes nothing.
    public static func apply(_ event: RoomEvent, to room: inout Room) -> Outcome {
        guard event.room == room.id else { return .unchanged }
        guard !room.knowsNewer(than: event) else { return .stale }
        let (wasOpen, participants) = (room.isOpen, room.participants)
        let subject = subject(of: event.kind)
        // A departure ends earlier streams even if the participant is known to have come back.
        let isLate = room.marks[subject]?.isNewerThan(event) ?? false
        if event.kind != .roomClosed { room.isOpen = true }
        perform(event, on: &room)
        if !isLate { room.mark(subject, by: event) }
        // Marks are bookkeeping and do not count as a change.
        let isSame = room.isOpen == wasOpen && room.participants == participants
        return isSame ? (isLate ? .stale : .unchanged) : .changed
    }

    static func subject(of kind: RoomEvent.Kind) -> String {
        switch kind {
        case .streamPublished(let publication): SourceID(user: publication.user, stream: publication.stream).rawValue
        case .streamUpdated(let update): SourceID(user: update.user, stream: update.stream).rawValue
        case .streamUnpublished(let user, let stream, _): SourceID(user: user, stream: stream).rawValue
        case .participantJoined(let user, _, _), .participantLeft(let user): "@\(user)"
        case .roomOpened, .roomClosed: Room.roomSubject
        case .roomSnapshot: Room.snapshotSubject
        }
    }

    private static func perform(_ event: RoomEvent, on room: inout Room) {
        switch event.kind {
        case .streamPublished(let publication):
            room.publish(publication)
        case .streamUpdated(let update):
            room.update(update)
        case .streamUnpublished(let user, let stream, _):
            room.unpublish(user: user, stream: stream)
        case .participantJoined(let user, let role, let name):
            let index = room.indexOfParticipant(addingIfAbsent: user)
            room.participants[index].joinedExplicitly = true
            if let role { room.participants[index].role = role }
            if let name { room.participants[index].name = name }
        case .participantLeft(let user):
            room.leave(user, by: event)
        case .roomOpened:
            break
        case .roomClosed:
            room.close(by: event)
        case .roomSnapshot(let snapshot):
            room.reconcile(with: snapshot, of: event)
        }
    }
}

extension Room {
    mutating func indexOfParticipant(addingIfAbsent user: UserID) -> Int {
        if let index = participants.firstIndex(where: { $0.user == user }) { return index }
        participants.append(Participant(user: user, joinOrder: nextJoinOrder, joinedExplicitly: false))
        nextJoinOrder += 1
        return participants.count - 1
    }

    mutating func publish(_ publication: Publication) {
        let index = indexOfParticipant(addingIfAbsent: publication.user)
        if let role = publication.role { participants[index].role = role }
        var stream = LiveStream(
            kind: publication.stream, url: publication.url, audio: publication.audio,
            video: publication.video && publication.stream != .audio, publishOrder: nextPublishOrder,
            backup: publication.backup)
        if let existing = participants[index].streams.firstIndex(where: { $0.kind == publication.stream }) {
            // A stream that is published again without having ended keeps its place.
            stream.publishOrder = participants[index].streams[existing].publishOrder
            participants[index].streams[existing] = stream
        } else {
            nextPublishOrder += 1
            participants[index].streams.append(stream)
            participants[index].streams.sort { $0.kind.rank < $1.kind.rank }
        }
    }

    fileprivate mutating func update(_ update: StreamUpdate) {
        guard let index = participants.firstIndex(where: { $0.user == update.user }) else { return }
        if let role = update.role { participants[index].role = role }
        guard let stream = participants[index].streams.firstIndex(where: { $0.kind == update.stream }) else { return }
        if let audio = update.audio { participants[index].streams[stream].audio = audio }
        if let video = update.video, update.stream != .audio { participants[index].streams[stream].video = video }
    }

    mutating func unpublish(user: UserID, stream: StreamKind) {
        guard let index = participants.firstIndex(where: { $0.user == user }) else { return }
        participants[index].streams.removeAll { $0.kind == stream }
        if participants[index].streams.isEmpty, !participants[index].joinedExplicitly { participants.remove(at: index) }
    }

    mutating func mark(_ subject: String, by event: RoomEvent) {
        // An event without sequence and time defines no order.
        guard event.sequence != nil || event.time != nil else { return }
        mark(subject, EventMark(source: event.source, sequence: event.sequence, time: event.time, touched: nextTouch))
    }

    mutating func mark(_ subject: String, _ mark: EventMark) {
        marks[subject] = mark
        nextTouch += 1
        if marks.count > Room.maximumMarks, let oldest = marks.min(by: { $0.value.touched < $1.value.touched }) {
            marks[oldest.key] = nil
        }
    }

}

extension StreamKind {
    /// Position among the streams of a participant: camera, screen, audio.
    var rank: Int {
        switch self {
        case .camera: 0
        case .screen: 1
        case .audio: 2
        }
    }
}
