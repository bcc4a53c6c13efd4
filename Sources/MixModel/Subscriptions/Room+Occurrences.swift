extension Room {
    /// Returns the occurrences between an earlier state of the room and this one, in a possible order. It makes no
    /// difference whether a change came from one event, a snapshot or a deletion.
    ///
    /// A room is open from the arrival of its first participant until the last one leaves.
    public func occurrences(since old: Room) -> [Occurrence.Kind] {
        guard participants != old.participants else { return [] }
        let before = Dictionary(old.participants.map { ($0.user, $0) }) { first, _ in first }
        let now = Dictionary(participants.map { ($0.user, $0) }) { first, _ in first }
        var kinds: [Occurrence.Kind] = []
        for participant in old.participants {
            let person = Occurrence.Person(participant)
            for stream in participant.streams
            where now[participant.user]?.streams.contains(where: { $0.kind == stream.kind }) != true {
                kinds.append(.streamUnpublished(person, Occurrence.Stream(stream)))
            }
            if now[participant.user] == nil { kinds.append(.participantLeft(person)) }
        }
        if participants.isEmpty { kinds.append(.roomClosed) }
        if old.participants.isEmpty { kinds.append(.roomOpened) }
        for participant in participants {
            let person = Occurrence.Person(participant)
            let earlier = before[participant.user]
            if let earlier {
                if earlier.role != participant.role {
                    kinds.append(.participantRoleChanged(person, from: earlier.role))
                }
            } else {
                kinds.append(.participantJoined(person))
            }
            for stream in participant.streams {
                let told = Occurrence.Stream(stream)
                switch earlier?.streams.first(where: { $0.kind == stream.kind }) {
                case let old? where old.url == stream.url:
                    if Occurrence.Stream(old) != told { kinds.append(.streamUpdated(person, told)) }
                default: kinds.append(.streamPublished(person, told))
                }
            }
        }
        return kinds
    }
}
