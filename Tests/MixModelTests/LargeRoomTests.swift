import MixModel
import TestSupport
import Testing

/// Rooms with the largest permitted number of participants: an event may cost at most one pass over all of them.
@Suite(.timeLimit(.minutes(5))) struct LargeRoomTests {
    private static let people = 1000

    private func published(_ number: Int) -> RoomEvent {
        RoomEvent(
            room: "large", source: "s", id: "\(number)", time: Double(number),
            kind: .streamPublished(Publication(user: UserID("user\(number)"), url: "rtmp://127.0.0.1/\(number)")))
    }

    private var large: Room {
        var room = Room(id: "large")
        for number in 0..<Self.people { _ = RoomMachine.apply(published(number), to: &room) }
        return room
    }

    /// Returns the cost of an event in µs, as the quickest of five runs.
    private func cost(of event: RoomEvent, on room: Room) -> Double {
        (0..<5).map { _ in
            var room = room
            let start = ContinuousClock.now
            _ = RoomMachine.apply(event, to: &room)
            return (ContinuousClock.now - start) / .microseconds(1)
        }.min() ?? 0
    }

    @Test func aClosingAndASnapshotCostLittleMoreThanAnEvent() {
        let room = large
        let single = cost(of: published(Self.people), on: room)
        let closing = RoomEvent(room: "large", source: "s", id: "c", time: 1e6, kind: .roomClosed)
        let empty = RoomSnapshot(streams: [], participants: nil)
        let snapshot = RoomEvent(room: "large", source: "s", id: "n", time: 1e6, kind: .roomSnapshot(empty))
        let (closed, emptied) = (cost(of: closing, on: room), cost(of: snapshot, on: room))
        print(
            "\(Self.people) people: an event \(single) µs, closing \(closed) µs, a snapshot without them \(emptied) µs")
        // Each participant is handled once, not once for each other participant, which took a thousand times as long.
        #expect(emptied < single * 100 + 20_000 && closed < single * 100 + 20_000)
        var after = room
        #expect(RoomMachine.apply(closing, to: &after) == .changed && after.participants.isEmpty)
        after = room
        #expect(RoomMachine.apply(snapshot, to: &after) == .changed && after.participants.isEmpty)
    }

    /// The weight estimates the size of a room's document without writing it.
    @Test func theWeightIsAboutTheDocuments() throws {
        for room in [Room(id: "small"), large] {
            let bytes = try room.document().utf8.count
            #expect(abs(room.weight - bytes) < bytes / 3 + 200, "\(room.weight), \(bytes)")
        }
    }
}
