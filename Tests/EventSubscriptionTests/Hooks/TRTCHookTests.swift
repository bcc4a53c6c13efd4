import Foundation
import MixModel
import Testing

@testable import EventSubscription

/// Event callbacks of Tencent RTC, as in its documentation.
@Suite struct TRTCHookTests {
    private let hook = TRTCHook()

    private func body(
        _ group: Int, _ type: Int, room: String = "12345", time: Int = 1_687_770_731_831, _ more: String = ""
    ) -> String {
        #"{"EventGroupId":\#(group),"EventType":\#(type),"CallbackTs":1687770731932,"EventInfo":{"RoomId":\#(room),"#
            + #""EventTs":\#(time / 1000),"EventMsTs":\#(time),"UserId":"test"\#(more)}}"#
    }

    private func read(_ text: String, url: String? = nil) throws -> HookOutcome {
        let request = HookExamples.json(text, headers: [.init(name: "sdkappid", value: "1400000123")])
        return try hook.outcome(of: request, reader: NginxRTMPHookTests.reader(url: url))
    }

    /// The "Verify Signature Example" of the documentation.
    private static let documented = [
        "{", "\t\"EventGroupId\":\t1,", "\t\"EventType\":\t103,", "\t\"CallbackTs\":\t1615554923704,",
        "\t\"EventInfo\":\t{", "\t\t\"RoomId\":\t12345,", "\t\t\"EventTs\":\t1608441737,", "\t\t\"UserId\":\t\"test\",",
        "\t\t\"UniqueId\":\t1615554922656,", "\t\t\"Role\":\t20,", "\t\t\"Reason\":\t1", "\t}", "}",
    ].joined(separator: "\n")

    @Test func theDocumentedSignatureIsRight() throws {
        func accepts(_ body: String, _ sign: String, _ key: String = "123654") -> Bool {
            hook.isAuthentic(
                HookExamples.json(body, headers: [.init(name: "sign", value: sign)]), secret: HookSecret(key))
        }
        let sign = "IncDMWHWRAoOHN72/K0wTTIY8pDyMINRLtBsmg3b+Uo="
        #expect(accepts(Self.documented, sign))
        #expect(!accepts(Self.documented, sign, "123655"))
        #expect(!accepts(Self.documented.replacing("\t", with: " "), sign), "the bytes count, not the JSON")
        #expect(!accepts(Self.documented, "kkoFeO3Oh2ZHnjtg8tEAQhtXK16/KI05W3BQff8IvGA="))
        for sign in ["", "=", "IncDMWHWRAoOHN72", sign.lowercased(), sign + "="] {
            #expect(!accepts(Self.documented, sign))
        }
        #expect(!hook.isAuthentic(HookExamples.json(Self.documented), secret: HookSecret("123654")))
        let outcome = try read(Self.documented)
        #expect(outcome.words == ["12345: participant.joined test"] && outcome.events.first?.time == 1_608_441_737)
    }

    @Test func participantsComeAndGo() throws {
        for room in ["12345", "\"12345\""] {
            let joined = try read(body(1, 103, room: room, #","Role":20,"TerminalType":2,"UserType":3,"Reason":1"#))
            #expect(joined.words == ["12345: participant.joined test"])
            #expect(joined.events.first?.id == "103:12345:test:1687770731831")
            #expect(joined.events.first?.time == 1_687_770_731.831)
            #expect(
                try read(body(1, 104, room: room, #","Role":20,"Reason":1"#)).words == ["12345: participant.left test"])
        }
        #expect(try read(body(1, 101)).words == ["12345: room.opened"])
        #expect(try read(body(1, 102)).words == ["12345: room.closed"])
        #expect(hook.answer(.accepted, to: nil) == HookAnswer(json: #"{"code":0}"#))
    }

    /// A viewer is not a participant until the role changes.
    @Test func viewersAreNoParticipants() throws {
        #expect(try read(body(1, 103, #","Role":21"#)).events.isEmpty)
        #expect(try read(body(1, 104, #","Role":21"#)).events.isEmpty)
        #expect(try read(body(1, 105, #","Role":20"#)).words == ["12345: participant.joined test"])
        #expect(try read(body(1, 105, #","Role":21"#)).words == ["12345: participant.left test"])
    }

    private func body(_ group: Int, _ type: Int, _ more: String) -> String {
        body(group, type, room: "12345", time: 1_687_770_731_831, more)
    }

    @Test func mediaIsAStreamOnlyWithAURL() throws {
        for type in 201...206 { #expect(try read(body(2, type)).words.isEmpty, "\(type)") }
        let url = "rtmp://127.0.0.1/live/{app}_{room}_{user}_{name}"
        #expect(try read(body(2, 201), url: url).urls == ["rtmp://127.0.0.1/live/1400000123_12345_test_main"])
        #expect(try read(body(2, 205), url: url).urls == ["rtmp://127.0.0.1/live/1400000123_12345_test_aux"])
        #expect(try read(body(2, 206), url: url).words == ["12345: stream.unpublished test/screen"])
        let expected: [Int: StreamUpdate] = [
            201: StreamUpdate(user: "test", video: true), 202: StreamUpdate(user: "test", video: false),
            203: StreamUpdate(user: "test", audio: true), 204: StreamUpdate(user: "test", audio: false),
        ]
        for (type, update) in expected {
            #expect(try read(body(2, type), url: url).events.last?.kind == .streamUpdated(update), "\(type)")
        }
    }

    /// The exit is one event, and ends the streams.
    @Test func theExitEndsTheMedia() throws {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "12345")
        func arrive(_ group: Int, _ type: Int, _ time: Int) throws {
            for event in try read(body(group, type, time: time), url: "rtmp://127.0.0.1/live/{name}").events {
                guard case .pass(let passed) = sessions.admit(event, of: "trtc", peer: "p", now: 0) else { continue }
                _ = RoomMachine.apply(passed, to: &room)
            }
        }
        try arrive(1, 103, 1000)
        try arrive(2, 201, 1100)
        try arrive(2, 203, 1100)
        #expect(room.streams.map(\.stream.video) == [true])
        try arrive(2, 202, 1200)
        #expect(room.streams.map(\.stream.video) == [false] && room.streams.map(\.stream.audio) == [true])
        try arrive(1, 104, 2000)
        #expect(room.participants.isEmpty)
        // An event that is sent again after a while.
        try arrive(2, 201, 1100)
        #expect(room.participants.isEmpty)
    }

    /// Numbers may be strings, and therefore of any size: a time that is none is ignored.
    @Test func anImpossibleTimeIsNoTime() throws {
        for time in ["9223372036854775807", "-9223372036854775808", "9300000000000000"] {
            for field in ["EventTs", "EventMsTs"] {
                let outcome = try read(
                    #"{"EventGroupId":1,"EventType":101,"EventInfo":{"RoomId":"lobby","\#(field)":"\#(time)"}}"#)
                #expect(outcome.words == ["lobby: room.opened"])
                #expect(outcome.events.first?.time == nil && outcome.events.first?.id == nil, "\(field) \(time)")
            }
        }
    }

    @Test func othersConcernNoRoom() throws {
        for (group, type) in [(1, 199), (2, 101), (3, 301), (14, 1401), (9, 901)] {
            #expect(try read(body(group, type)) == .ignored("other"))
        }
        for text in [
            "", "{}", #"{"EventGroupId":1,"EventType":103}"#,
            #"{"EventGroupId":1,"EventType":103,"EventInfo":{"RoomId":1}}"#,
        ] {
            #expect(throws: InputError.self) { try read(text) }
        }
    }
}
