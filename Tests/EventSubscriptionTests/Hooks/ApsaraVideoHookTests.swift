import MixModel
import Testing

@testable import EventSubscription

/// Room callbacks of ApsaraVideo Live (`CreateEventSub`).
@Suite struct ApsaraVideoHookTests {
    private let hook = ApsaraVideoHook()

    private func user(_ tag: String, _ user: String = "80331631628db0d1", role: Int = 1, at time: Int = 1_609_854_786)
        -> String
    {
        #"{"Event":"UserEvent","UserEvent":{"UserId":"\#(user)","EventTag":"\#(tag)","SessionId":"0dr15rrnhk","#
            + #""Timestamp":\#(time),"Reason":1,"Role":\#(role),"TerminalType":1}}"#
    }

    private func channel(_ tag: String) -> String {
        #"{"Event":"ChannelEvent","ChannelEvent":{"ChannelId":"room","EventTag":"\#(tag)","Timestamp":1609854786}}"#
    }

    private func body(_ contents: String..., channel: String = #""room""#) -> String {
        #"{"MsgId":"id","MsgTimestamp":12312324,"SubscribeID":"sub","AppId":"app","ChannelID":\#(channel),"Contents":["#
            + contents.joined(separator: ",") + "]}"
    }

    private func read(_ text: String, url: String? = nil) throws -> HookOutcome {
        try hook.outcome(of: HookExamples.json(text), reader: NginxRTMPHookTests.reader(url: url))
    }

    @Test func usersAndChannelsComeAndGo() throws {
        let joined = try read(body(user("Join", "alice")))
        #expect(joined.words == ["room: participant.joined alice"] && joined.events.first?.time == 1_609_854_786)
        #expect(try read(body(user("Leave", "alice"))).words == ["room: participant.left alice"])
        #expect(try read(body(channel("Open"))).words == ["room: room.opened"])
        #expect(try read(body(channel("Close"))).words == ["room: room.closed"])
        #expect(try read(body(user("Join"), channel: "815")).words == ["815: participant.joined 80331631628db0d1"])
        let answer = hook.answer(.accepted, to: joined)
        #expect(answer.status == 200 && answer.contentType == "application/json")
    }

    /// Messages about an event contain its time as a date and as a whole number.
    @Test func anImpossibleTimeIsNoTime() throws {
        let late = try read(body(user("Join", "alice", at: 9_007_199_254_740_991)))
        #expect(late.words == ["room: participant.joined alice"] && late.events.first?.time == nil)
    }

    @Test func viewersAreNoParticipants() throws {
        #expect(try read(body(user("Join", role: 2))).events.isEmpty)
        #expect(try read(body(user("Leave", role: 2))).events.isEmpty)
        #expect(try read(body(user("Roleupdate", "a", role: 1))).words == ["room: participant.joined a"])
        #expect(try read(body(user("Roleupdate", "a", role: 2))).words == ["room: participant.left a"])
    }

    @Test func publishersAreStreamsOnlyWithAURL() throws {
        #expect(try read(body(user("Publish", "a"))).words == ["room: participant.joined a"])
        #expect(try read(body(user("Unpublish", "a"))).words.isEmpty)
        let outcome = try read(body(user("Publish", "a")), url: "http://127.0.0.1/{app}/{room}_{name}.flv")
        #expect(outcome.words == ["room: participant.joined a", "room: stream.published a/camera"])
        #expect(outcome.urls == ["http://127.0.0.1/app/room_a.flv"])
    }

    @Test func severalEventsAreOneMessage() throws {
        let outcome = try read(body(user("Join", "a"), user("Whatever"), user("Leave", "b"), channel("Close")))
        #expect(outcome.words == ["room: participant.joined a", "room: participant.left b", "room: room.closed"])
        #expect(outcome.events.map(\.id) == ["id/0", "id/2", "id/3"])
        let odd = try read(body(user("Join", "a\\u0007"), user("Join", "b")))
        #expect(odd.words == ["room: participant.joined b"] && odd.unmatched != nil)
        let many = Array(repeating: user("Join", "a"), count: 500).joined(separator: ",")
        #expect(try read(body(many)).events.count == ApsaraVideoHook.mostContents)
    }

    @Test func othersConcernNoRoom() throws {
        let relayTask =
            #"{"EventType":1,"MsgId":"m","AppId":"rtcdev","TaskId":"t","CallbackTs":1,"Payload":{"EventCode":1}}"#
        for text in [relayTask, "{}", body(), body(user("New")), body(#"{"Event":"NewEvent"}"#), body("1")] {
            #expect(try read(text) == .ignored("other"))
        }
        for text in ["", "[]", body(#"{"Event":"UserEvent","UserEvent":{"EventTag":"Join"}}"#)] {
            #expect(throws: InputError.self) { try read(text) }
        }
    }
}
