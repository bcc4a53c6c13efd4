import MixModel
import TestSupport
import Testing

/// Random events with duplicates and in any order, compared with a model in which the newest event of a stream counts.
@Suite struct RoomMachinePropertyTests {
    @Test func theNewestEventOfEachStreamCountsInAnyOrderOfArrival() {
        var random = SeededGenerator(announcedFor: "room machine")
        let seed = random.seed
        for run in 0..<500 {
            let events = Self.history(&random)
            var arrived =
                events
                + (0..<Int.random(in: 0...10, using: &random)).compactMap { _ in events.randomElement(using: &random) }
            arrived.shuffle(using: &random)
            var room = Room(id: "r")
            for event in arrived { _ = RoomMachine.apply(event, to: &room) }

            var newest: [SourceID: RoomEvent] = [:]
            for event in events {
                guard let stream = Self.stream(of: event) else { continue }
                if (newest[stream]?.sequence ?? 0) < (event.sequence ?? 0) { newest[stream] = event }
            }
            let live = newest.filter { Self.isPublication($0.value) }
            #expect(Set(room.streams.map(\.id)) == Set(live.keys), "seed \(seed), run \(run)")
            for stream in room.streams {
                #expect(Self.url(live[stream.id]) == stream.stream.url, "seed \(seed), run \(run)")
            }
            let orders = room.participants.map(\.joinOrder)
            #expect(orders == orders.sorted() && Set(orders).count == orders.count, "seed \(seed), run \(run)")
        }
    }

    @Test func applyingAnEventTwiceIsApplyingItOnce() {
        var random = SeededGenerator(announcedFor: "room machine, twice")
        let seed = random.seed
        for run in 0..<200 {
            var once = Room(id: "r")
            var twice = Room(id: "r")
            for event in Self.history(&random).shuffled(using: &random) {
                _ = RoomMachine.apply(event, to: &once)
                _ = RoomMachine.apply(event, to: &twice)
                #expect(RoomMachine.apply(event, to: &twice) == .stale, "seed \(seed), run \(run)")
            }
            #expect(once == twice, "seed \(seed), run \(run)")
        }
    }

    private static func history(_ random: inout SeededGenerator) -> [RoomEvent] {
        (1...UInt64.random(in: 1...40, using: &random)).map { sequence in
            let user = UserID("u\(Int.random(in: 0..<4, using: &random))")
            let stream: StreamKind = Bool.random(using: &random) ? .camera : .screen
            let kind: RoomEvent.Kind =
                Bool.random(using: &random)
                ? .streamPublished(Publication(user: user, stream: stream, url: "rtmp://127.0.0.1/\(sequence)"))
                : .streamUnpublished(user: user, stream: stream, reason: nil)
            return RoomEvent(room: "r", source: "s", id: "\(sequence)", sequence: sequence, kind: kind)
        }
    }

    private static func stream(of event: RoomEvent) -> SourceID? {
        switch event.kind {
        case .streamPublished(let publication): SourceID(user: publication.user, stream: publication.stream)
        case .streamUnpublished(let user, let stream, _): SourceID(user: user, stream: stream)
        default: nil
        }
    }

    private static func isPublication(_ event: RoomEvent) -> Bool { url(event) != nil }

    private static func url(_ event: RoomEvent?) -> String? {
        guard case .streamPublished(let publication) = event?.kind else { return nil }
        return publication.url
    }
}
