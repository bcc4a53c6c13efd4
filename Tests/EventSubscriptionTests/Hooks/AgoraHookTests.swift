import Foundation
import MixModel
import Testing

@testable import EventSubscription

/// Channel events of Agora, as in its documentation.
@Suite struct AgoraHookTests {
    private let hook = AgoraHook()

    private func body(
        _ type: Int, channel: String = "lobby", seq: UInt64? = 1_625_051_030_746, ts: Int = 1_560_396_843,
        account: String? = nil, notice: String = "2000001428:4330:107", product: Int = 1
    ) -> String {
        let user = type < 103 ? "" : #""uid":12121212,"platform":1,"clientType":8,"#
        let number = seq.map { #""clientSeq":\#($0),"# } ?? ""
        let name = account.map { #""account":"\#($0)","# } ?? ""
        return
            #"{"noticeId":"\#(notice)","productId":\#(product),"eventType":\#(type),"notifyMs":1611566412672,"sid":"S","#
            + #""payload":{"channelName":"\#(channel)",\#(user)\#(number)\#(name)"ts":\#(ts)}}"#
    }

    private func read(_ text: String, url: String? = nil) throws -> HookOutcome {
        try hook.outcome(of: HookExamples.json(text), reader: NginxRTMPHookTests.reader(url: url))
    }

    /// The example of "Add signature verification" in the documentation.
    private static let documented =
        #"{"eventMs":1560408533119,"eventType":10,"noticeId":"4eb720f0-8da7-11e9-a43e-53f411c2761f","#
        + #""notifyMs":1560408533119,"payload":{"a":"1","b":2},"productId":1}"#
    private static let sha1 = "033c62f40f687675f17f0f41f91a40c71c0f134c"
    private static let sha256 = "6d3320c60b11101395b7fc8f9068748808a0aa1bfa064438e39d1bc2c7d74d99"

    private func accepts(_ headers: [String: String], _ body: String = documented, secret: String = "secret") -> Bool {
        hook.isAuthentic(
            HookExamples.json(body, headers: headers.map { .init(name: $0.key, value: $0.value) }),
            secret: HookSecret(secret))
    }

    @Test func theDocumentedSignaturesAreRight() throws {
        let (first, second) = ("agora-signature", "agora-signature-v2")
        #expect(accepts([first: Self.sha1]) && accepts([second: Self.sha256]))
        #expect(accepts([first: Self.sha1, second: Self.sha256]) && accepts([second: Self.sha256.uppercased()]))
        // The stronger signature decides.
        #expect(!accepts([first: Self.sha1, second: Self.sha1]))
        #expect(!accepts([first: Self.sha1], secret: "secreT") && !accepts([second: Self.sha256], secret: "secreT"))
        #expect(!accepts([second: Self.sha256], Self.documented + " "))
        #expect(!accepts([:]))
        for sign in ["", "zz", String(Self.sha256.dropLast()), Self.sha256 + "0", String(repeating: "z", count: 64)] {
            #expect(!accepts([second: sign]), "\(sign)")
        }
        #expect(try read(Self.documented) == .ignored("other"))
        #expect(hook.answer(.accepted, to: nil) == HookAnswer(json: #"{"code":0}"#))
    }

    @Test func usersComeAndGo() throws {
        for type in [103, 107, 111] {
            let outcome = try read(body(type))
            #expect(outcome.words == ["lobby: participant.joined 12121212"], "\(type)")
            #expect(outcome.events.first?.sequence == 1_625_051_030_746)
            #expect(outcome.events.first?.id == "2000001428:4330:107")
        }
        for type in [104, 108, 112] { #expect(try read(body(type)).words == ["lobby: participant.left 12121212"]) }
        #expect(try read(body(103, account: "alice")).words == ["lobby: participant.joined alice"])
        #expect(try read(body(101, seq: nil)).words == ["lobby: room.opened"])
        #expect(try read(body(102, seq: nil)).words == ["lobby: room.closed"])
    }

    @Test func whoMaySendIsAStreamWithAURL() throws {
        let outcome = try read(body(103), url: "rtmp://127.0.0.1/live/{room}_{name}")
        #expect(outcome.words == ["lobby: participant.joined 12121212", "lobby: stream.published 12121212/camera"])
        #expect(outcome.urls == ["rtmp://127.0.0.1/live/lobby_12121212"])
        #expect(Set(outcome.events.map(\.id)).count == 2)
    }

    /// `clientSeq` decides, even within a second.
    @Test func theSequenceDecides() throws {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "lobby")
        func arrive(_ type: Int, _ seq: UInt64?, ts: Int = 100) throws {
            let text = body(type, seq: seq, ts: ts, notice: "\(type):\(seq ?? 0)")
            for event in try read(text, url: "rtmp://127.0.0.1/live/{room}_{name}").events {
                guard case .pass(let passed) = sessions.admit(event, of: "agora", peer: "p", now: 0) else { continue }
                _ = RoomMachine.apply(passed, to: &room)
            }
        }
        try arrive(103, 30)
        try arrive(104, 20)
        #expect(room.participants.map(\.user) == ["12121212"] && room.hasStreams, "an earlier stay ended late")
        try arrive(112, 40)
        try arrive(103, 35)
        #expect(room.participants.isEmpty)
        try arrive(111, 50, ts: 101)
        #expect(room.hasStreams)
        // The channel was destroyed before that.
        try arrive(102, nil, ts: 100)
        #expect(room.hasStreams)
        try arrive(102, nil, ts: 102)
        #expect(room.participants.isEmpty)
    }

    @Test func theOrderIsBounded() throws {
        var order = SubjectOrder()
        for number in 0..<20_000 {
            let event = HookEvent(
                room: "lobby", kind: .participantLeft(user: UserID("u\(number)")), sequence: 1)
            let isAdmitted = order.admits(event, of: "agora")
            #expect(isAdmitted)
        }
        #expect(order.count <= SubjectOrder.mostSubjects)
    }

    /// The test of Agora's console is answered and creates no room.
    @Test func othersConcernNoRoom() throws {
        #expect(try read(body(103, channel: "test_webhook")) == .ignored("test"))
        for type in [105, 106, 109, 113, 999] { #expect(try read(body(type)) == .ignored("other")) }
        #expect(try read(body(103, product: 3)) == .ignored("other"))
        for text in [
            "", "{}", #"{"productId":1,"eventType":103}"#,
            #"{"productId":1,"eventType":103,"payload":{"channelName":"a"}}"#,
        ] {
            #expect(throws: InputError.self) { try read(text) }
        }
    }
}
