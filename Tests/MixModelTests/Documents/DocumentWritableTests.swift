import LayoutEngine
import TestSupport
import Testing

@testable import MixModel

/// Documents of rooms and events.
@Suite struct DocumentWritableTests {
    private let settings = RoomSettings(
        host: "alice", layout: "auto",
        outputs: [PushDestination(id: "cdn", url: "rtmp://127.0.0.1/cdn/show?key=\"k\"")],
        canvas: RoomCanvas(Canvas(width: 720, height: 1280, fps: 20), followsHost: true),
        policy: RoomPolicy(
            bypass: .never, whenHostLeaves: .slate, maxIdleSeconds: 7, priority: 9, whenIdle: .finishWithRoom,
            quality: QualityLimits(
                minBitrate: 300_000, minFrameRate: 10, silenceSeconds: 3, freezeSeconds: 10, blackSeconds: 4),
            redundancy: .twin),
        program: ProgramSettings(composition: .single(SourceSelection(user: "bob"))),
        recording: RecordingSettings(), hls: HLSSettings(enableVOD: true),
        schedule: TaskSchedule(startsAt: 1_700_000_000, endsAt: 1_700_003_600.5),
        idle: IdleSettings(media: ["intro \"1\".mp4", "https://127.0.0.1/loop.webm"], loop: false),
        params: ["title": .text("\"A\"\n"), "score": .number(1.5), "away": .number(3), "shown": .flag(false)])

    @Test func settingsAreTheSame() throws {
        try expectAll(settings)
        try expectSame(RoomSettings())
        try expectSame(RoomSettings(outputs: []))
        try expectAll(settings.policy)
    }

    @Test func eventsAreTheSame() throws {
        let publication = Publication(
            user: "böb", stream: .screen, url: "rtmp://127.0.0.1/b\\\n", audio: false, video: true, role: .guest,
            backup: "rtmp://127.0.0.1/b2\\\n")
        // A page is not stored; see `Publication.page`.
        try expectAll(publication, except: ["page"])
        let update = StreamUpdate(user: "alice", stream: .camera, audio: false, video: true, role: .host)
        try expectAll(update)
        let kinds: [RoomEvent.Kind] = [
            .streamPublished(publication), .streamPublished(Publication(user: "a", url: "")), .streamUpdated(update),
            .streamUpdated(StreamUpdate(user: "")), .streamUnpublished(user: "a", stream: .audio, reason: "left \u{1}"),
            .streamUnpublished(user: "a", stream: .camera, reason: nil),
            .participantJoined(user: "c", role: .host, name: "Carol \"C\""),
            .participantJoined(user: "c", role: nil, name: nil), .participantLeft(user: "c"), .roomOpened, .roomClosed,
            .roomSnapshot(RoomSnapshot(streams: [.init(publication, name: "Bob")], participants: [.init(user: "a")])),
        ]
        for kind in kinds {
            try expectAll(
                RoomEvent(
                    room: "app/demo", app: "app", source: "/s", id: "\u{1F600}", sequence: .max, time: 1.5e9, kind: kind
                ))
            try expectSame(RoomEvent(room: "demo", source: "/s", id: "1", kind: kind))
        }
    }

    @Test func numbersThatJSONHasNotAreRefused() {
        let event = RoomEvent(room: "r", source: "s", id: "i", time: .infinity, kind: .roomOpened)
        #expect(throws: EncodingError.self) { try event.document() }
    }

    @Test func roomsAreTheSameWhateverHappensInThem() throws {
        var random = SeededGenerator(announcedFor: "room documents")
        let seed = random.seed
        for run in 0..<25 {
            var room = Room(id: "demo", settings: Bool.random(using: &random) ? settings : RoomSettings())
            room.settingsVersion = Bool.random(using: &random) ? .random(in: .min ... .max, using: &random) : nil
            for number in 0..<Int.random(in: 0..<30, using: &random) {
                let event = Self.event(number, &random)
                try expectSame(event, "seed \(seed), run \(run)")
                _ = RoomMachine.apply(event, to: &room)
            }
            for user in ["alice", "böb"] where Bool.random(using: &random) {
                let isTaken = room.control(
                    UserID(user), .init(muted: .random(using: &random), gain: 150, hidden: true))
                #expect(isTaken)
            }
            try expectSame(room, "seed \(seed), run \(run)")
            for participant in room.participants {
                try expectSame(participant, "seed \(seed), run \(run)")
                for stream in participant.streams { try expectSame(stream, "seed \(seed), run \(run)") }
            }
            for mark in room.marks.values { try expectSame(mark, "seed \(seed), run \(run)") }
        }
    }

    private static func event(_ number: Int, _ random: inout SeededGenerator) -> RoomEvent {
        let user = UserID(["alice", "böb", "a\"b", "\u{1F600}"].randomElement(using: &random) ?? "")
        let role = [nil, Role.host, .guest].randomElement(using: &random) ?? nil
        let stream = StreamKind.allCases.randomElement(using: &random) ?? .camera
        let kind: RoomEvent.Kind =
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                .streamPublished(
                    Publication(
                        user: user, stream: stream, url: "rtmp://127.0.0.1/\(number)",
                        audio: Bool.random(using: &random),
                        video: Bool.random(using: &random), role: role))
            case 2: .streamUpdated(StreamUpdate(user: user, stream: stream, audio: Bool.random(using: &random)))
            case 3: .streamUnpublished(user: user, stream: stream, reason: nil)
            case 4: .participantJoined(user: user, role: role, name: "n\(number)")
            default: .participantLeft(user: user)
            }
        return RoomEvent(
            room: "demo", source: "s", id: "\(number)",
            sequence: Bool.random(using: &random) ? .random(in: 0 ... .max, using: &random) : nil,
            time: Bool.random(using: &random) ? Double.random(in: 0...2e9, using: &random) : nil, kind: kind)
    }
}
