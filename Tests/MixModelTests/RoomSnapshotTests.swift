import MixModel
import TestSupport
import Testing

@Suite struct RoomSnapshotTests {
    private func event(
        _ kind: RoomEvent.Kind, sequence: UInt64? = nil, time: Double? = nil, source: String = "app"
    ) -> RoomEvent {
        RoomEvent(room: "demo", source: source, id: "x", sequence: sequence, time: time, kind: kind)
    }
    private func publication(_ user: UserID, _ stream: StreamKind = .camera, url: String? = nil) -> Publication {
        Publication(user: user, stream: stream, url: url ?? "rtmp://127.0.0.1/live/\(user)")
    }
    private func published(_ user: UserID, url: String? = nil) -> RoomEvent.Kind {
        .streamPublished(publication(user, url: url))
    }
    private func snapshot(_ users: UserID..., people: [UserID]? = nil) -> RoomEvent.Kind {
        .roomSnapshot(
            RoomSnapshot(
                streams: users.map { RoomSnapshot.Stream(publication($0)) },
                participants: people?.map { RoomSnapshot.Person(user: $0) }))
    }
    private func apply(_ events: RoomEvent...) -> (room: Room, last: RoomMachine.Outcome) {
        var room = Room(id: "demo")
        var outcome = RoomMachine.Outcome.unchanged
        for event in events { outcome = RoomMachine.apply(event, to: &room) }
        return (room, outcome)
    }

    @Test func whatIsNotInItIsGoneAndWhatIsNewAppears() {
        let (room, outcome) = apply(
            event(published("alice")), event(published("bob")), event(snapshot("bob", "carol")))
        #expect(outcome == .changed)
        #expect(room.streams.map(\.id) == ["bob/camera", "carol/camera"])
        #expect(room.streams.map(\.joinOrder) == [1, 2])
    }

    @Test func theSameAgainChangesNothing() {
        let first = apply(event(published("alice")), event(published("bob")))
        let second = apply(event(published("alice")), event(published("bob")), event(snapshot("bob", "alice")))
        #expect(second.last == .unchanged)
        #expect(second.room.streams == first.room.streams)
    }

    @Test func anotherURLIsTakenAndThePlaceStays() {
        let again = RoomEvent.Kind.roomSnapshot(
            RoomSnapshot(streams: [
                .init(publication("bob")), .init(publication("alice", url: "rtmp://127.0.0.1/live/new"), name: "Al"),
            ]))
        let (room, _) = apply(event(published("alice")), event(published("bob")), event(again))
        #expect(room.streams.map(\.user) == ["alice", "bob"])
        #expect(room.streams[0].stream.url == "rtmp://127.0.0.1/live/new")
        #expect(room.streams[0].stream.publishOrder == 0)
        #expect(room.streams[0].name == "Al")
    }

    @Test func whatIsKnownToBeNewerStays() {
        // A stream published after the snapshot was taken stays; one ended after it stays ended.
        let gone = RoomEvent.Kind.streamUnpublished(user: "carol", stream: .camera, reason: nil)
        let (room, outcome) = apply(
            event(published("alice"), time: 1), event(published("bob"), time: 20), event(gone, time: 20),
            event(snapshot("alice", "carol"), time: 10))
        #expect(outcome == .unchanged)
        #expect(room.streams.map(\.id) == ["alice/camera", "bob/camera"])
    }

    @Test func sequencesOfOneSourceDecideToo() {
        let (room, _) = apply(
            event(published("alice"), sequence: 3), event(published("bob"), sequence: 9),
            event(snapshot("carol"), sequence: 5))
        #expect(room.streams.map(\.id) == ["bob/camera", "carol/camera"])
        // A snapshot says nothing about the order of another source's events.
        let other = apply(event(published("bob"), sequence: 9), event(snapshot("carol"), sequence: 5, source: "b"))
        #expect(other.room.streams.map(\.id) == ["carol/camera"])
    }

    @Test func whatComesLateAndIsOlderThanTheSnapshotIsStale() {
        var (room, _) = apply(event(snapshot("alice"), time: 10))
        #expect(RoomMachine.apply(event(published("bob"), time: 9), to: &room) == .stale)
        let gone = RoomEvent.Kind.streamUnpublished(user: "alice", stream: .camera, reason: nil)
        #expect(RoomMachine.apply(event(gone, time: 9), to: &room) == .stale)
        #expect(RoomMachine.apply(event(snapshot(), time: 9), to: &room) == .stale)
        #expect(RoomMachine.apply(event(published("bob"), time: 11), to: &room) == .changed)
        #expect(room.streams.map(\.id) == ["alice/camera", "bob/camera"])
    }

    @Test func whoHasJoinedStaysUnlessTheParticipantsAreGiven() {
        let joined = event(.participantJoined(user: "zoe", role: .host, name: "Zoe"))
        let silent = apply(joined, event(published("alice")), event(snapshot("bob")))
        #expect(silent.room.participants.map(\.user) == ["zoe", "bob"])
        let given = apply(joined, event(published("alice")), event(snapshot("alice", people: ["yves"])))
        #expect(given.room.participants.map(\.user) == ["alice", "yves"])
        // A participant who had joined, and is now known only by a stream, stays the same participant.
        let kept = apply(joined, event(snapshot("zoe", people: [])))
        #expect(kept.room.participants.map(\.joinOrder) == [0])
        #expect(kept.room.participant("zoe")?.joinedExplicitly == false)
        #expect(kept.room.participant("zoe")?.role == .host)
    }

    @Test func aSnapshotFromBeforeTheRoomClosedIsStale() {
        var (room, _) = apply(event(published("alice"), time: 1), event(.roomClosed, time: 10))
        #expect(RoomMachine.apply(event(snapshot("alice"), time: 9), to: &room) == .stale)
        #expect(RoomMachine.apply(event(published("bob"), time: 9), to: &room) == .stale)
        #expect(!room.isOpen)
        #expect(RoomMachine.apply(event(snapshot("alice"), time: 11), to: &room) == .changed)
        #expect(room.isOpen && room.streams.count == 1)
    }

    /// Whatever was lost, doubled or late, the room equals the sender's after the snapshot, and stays so.
    @Test func aSnapshotPutsRightWhatWasLost() {
        var random = SeededGenerator(announcedFor: "room snapshot")
        let seed = random.seed
        for run in 0..<500 {
            var truth: [SourceID: Publication] = [:]
            var events: [RoomEvent] = []
            for time in 1...Int.random(in: 2...40, using: &random) {
                let user = UserID("u\(Int.random(in: 0..<5, using: &random))")
                let stream: StreamKind = Bool.random(using: &random) ? .camera : .screen
                let id = SourceID(user: user, stream: stream)
                let kind: RoomEvent.Kind
                if Bool.random(using: &random) {
                    truth[id] = publication(user, stream, url: "rtmp://127.0.0.1/\(time)")
                    kind = .streamPublished(truth[id] ?? publication(user))
                } else {
                    truth[id] = nil
                    kind = .streamUnpublished(user: user, stream: stream, reason: nil)
                }
                events.append(event(kind, time: Double(time), source: "s\(Int.random(in: 0..<2, using: &random))"))
            }
            let snapshot = event(
                .roomSnapshot(
                    RoomSnapshot(streams: truth.values.shuffled(using: &random).map { RoomSnapshot.Stream($0) })),
                time: 100)
            var early: [RoomEvent] = []
            var late: [RoomEvent] = []
            for event in events {
                if Int.random(in: 0..<3, using: &random) > 0 { early.append(event) }
                if Int.random(in: 0..<3, using: &random) == 0 { late.append(event) }
            }
            var room = Room(id: "demo")
            for event in early.shuffled(using: &random) { _ = RoomMachine.apply(event, to: &room) }
            _ = RoomMachine.apply(snapshot, to: &room)
            for event in late.shuffled(using: &random) {
                #expect(RoomMachine.apply(event, to: &room) == .stale, "seed \(seed), run \(run)")
            }
            let streams = Dictionary(uniqueKeysWithValues: room.streams.map { ($0.id, $0.stream.url) })
            #expect(streams == truth.mapValues(\.url), "seed \(seed), run \(run)")
        }
    }
}
