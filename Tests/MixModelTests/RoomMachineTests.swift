import MixModel
import Testing

@Suite struct RoomMachineTests {
    private let room = RoomID("demo")

    private func event(
        _ kind: RoomEvent.Kind, sequence: UInt64? = nil, time: Double? = nil, source: String = "app"
    ) -> RoomEvent {
        RoomEvent(room: room, source: source, id: "x", sequence: sequence, time: time, kind: kind)
    }

    private func published(_ user: UserID, _ stream: StreamKind = .camera, role: Role? = nil) -> RoomEvent.Kind {
        .streamPublished(Publication(user: user, stream: stream, url: "rtmp://127.0.0.1/live/\(user)", role: role))
    }

    @Test func publishingMakesAParticipantAndUnpublishingRemovesThem() {
        var room = Room(id: room)
        #expect(RoomMachine.apply(event(published("alice")), to: &room) == .changed)
        #expect(room.streams.map(\.id) == ["alice/camera"])
        let gone = RoomEvent.Kind.streamUnpublished(user: "alice", stream: .camera, reason: nil)
        #expect(RoomMachine.apply(event(gone), to: &room) == .changed)
        #expect(room.participants.isEmpty)
        #expect(RoomMachine.apply(event(gone), to: &room) == .unchanged)
    }

    @Test func somebodyWhoJoinedStaysWithoutAStream() {
        var room = Room(id: room)
        let joined = RoomEvent.Kind.participantJoined(user: "alice", role: .host, name: "Alice")
        #expect(RoomMachine.apply(event(joined), to: &room) == .changed)
        #expect(RoomMachine.apply(event(joined), to: &room) == .unchanged)
        _ = RoomMachine.apply(event(published("alice")), to: &room)
        _ = RoomMachine.apply(
            event(.streamUnpublished(user: "alice", stream: .camera, reason: "left")), to: &room)
        #expect(room.participant("alice")?.name == "Alice")
        #expect(room.participant("alice")?.role == .host)
        #expect(room.streams.isEmpty)
        #expect(RoomMachine.apply(event(.participantLeft(user: "alice")), to: &room) == .changed)
        #expect(room.participants.isEmpty)
    }

    @Test func publishingAgainKeepsThePlaceAndTakesTheNewURL() {
        var room = Room(id: room)
        _ = RoomMachine.apply(event(published("alice")), to: &room)
        _ = RoomMachine.apply(event(published("bob")), to: &room)
        let again = RoomEvent.Kind.streamPublished(Publication(user: "alice", url: "rtmp://127.0.0.1/live/new"))
        #expect(RoomMachine.apply(event(again), to: &room) == .changed)
        #expect(room.streams.map(\.id) == ["alice/camera", "bob/camera"])
        #expect(room.streams[0].stream.url == "rtmp://127.0.0.1/live/new")
        #expect(room.streams[0].stream.publishOrder == 0)
    }

    @Test func updatesChangeOnlyWhatTheySay() {
        var room = Room(id: room)
        _ = RoomMachine.apply(event(published("alice")), to: &room)
        let mute = RoomEvent.Kind.streamUpdated(StreamUpdate(user: "alice", audio: false))
        #expect(RoomMachine.apply(event(mute), to: &room) == .changed)
        #expect(room.streams[0].stream.audio == false)
        #expect(room.streams[0].stream.video == true)
        let stranger = RoomEvent.Kind.streamUpdated(StreamUpdate(user: "zoe", audio: false))
        #expect(RoomMachine.apply(event(stranger), to: &room) == .unchanged)
    }

    @Test func aStreamOfKindAudioHasNoPicture() {
        var room = Room(id: room)
        _ = RoomMachine.apply(event(published("alice", .audio)), to: &room)
        #expect(room.streams[0].stream.video == false)
        let update = RoomEvent.Kind.streamUpdated(StreamUpdate(user: "alice", stream: .audio, video: true))
        #expect(RoomMachine.apply(event(update), to: &room) == .unchanged)
    }

    @Test func closingEmptiesTheRoomAndTheNextEventOpensIt() {
        var room = Room(id: room)
        _ = RoomMachine.apply(event(published("alice")), to: &room)
        #expect(RoomMachine.apply(event(.roomClosed), to: &room) == .changed)
        #expect(!room.isOpen && room.participants.isEmpty)
        #expect(RoomMachine.apply(event(published("bob")), to: &room) == .changed)
        #expect(room.isOpen)
        #expect(room.participant("bob")?.joinOrder == 1)
    }

    struct Order: Sendable, CustomTestStringConvertible {
        var first: (sequence: UInt64?, time: Double?, source: String)
        var second: (sequence: UInt64?, time: Double?, source: String)
        var isStale: Bool
        var testDescription: String { "\(first) then \(second)" }
    }

    @Test(arguments: [
        Order(first: (5, nil, "a"), second: (4, nil, "a"), isStale: true),
        Order(first: (5, nil, "a"), second: (5, nil, "a"), isStale: true),
        Order(first: (5, nil, "a"), second: (6, nil, "a"), isStale: false),
        // Sequences of different senders cannot be compared.
        Order(first: (5, nil, "a"), second: (4, nil, "b"), isStale: false),
        Order(first: (5, 10, "a"), second: (4, 9, "b"), isStale: true),
        Order(first: (nil, 10, "a"), second: (nil, 9, "a"), isStale: true),
        Order(first: (nil, 10, "a"), second: (nil, 10, "a"), isStale: false),
        // The sequence takes precedence over the time.
        Order(first: (5, 10, "a"), second: (6, 9, "a"), isStale: false),
        Order(first: (nil, nil, "a"), second: (nil, nil, "a"), isStale: false),
    ])
    func staleEventsAreKnownByTheirOrder(_ order: Order) {
        var room = Room(id: room)
        let first = event(
            published("alice"), sequence: order.first.sequence, time: order.first.time, source: order.first.source)
        let second = event(
            .streamUnpublished(user: "alice", stream: .camera, reason: nil), sequence: order.second.sequence,
            time: order.second.time, source: order.second.source)
        _ = RoomMachine.apply(first, to: &room)
        let before = room
        #expect(RoomMachine.apply(second, to: &room) == (order.isStale ? .stale : .changed))
        #expect((room == before) == order.isStale)
    }

    @Test func anOldPublishAfterItsUnpublishIsStale() {
        var room = Room(id: room)
        let gone = RoomEvent.Kind.streamUnpublished(user: "alice", stream: .camera, reason: nil)
        _ = RoomMachine.apply(event(gone, sequence: 2), to: &room)
        #expect(RoomMachine.apply(event(published("alice"), sequence: 1), to: &room) == .stale)
        #expect(room.streams.isEmpty)
    }

    @Test func whatWasPublishedBeforeSomebodyLeftIsStale() {
        var room = Room(id: room)
        _ = RoomMachine.apply(event(published("alice"), time: 1), to: &room)
        _ = RoomMachine.apply(event(.participantLeft(user: "alice"), time: 5), to: &room)
        #expect(RoomMachine.apply(event(published("alice"), time: 4), to: &room) == .stale)
        #expect(RoomMachine.apply(event(published("alice"), time: 6), to: &room) == .changed)
    }

    @Test func eventsOfAnotherRoomChangeNothing() {
        var room = Room(id: room)
        let other = RoomEvent(room: "other", source: "a", id: "1", kind: published("alice"))
        #expect(RoomMachine.apply(other, to: &room) == .unchanged)
        #expect(room.participants.isEmpty)
    }
}
