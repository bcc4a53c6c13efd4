import MixModel
import Testing

@testable import EventSubscription

/// Webhooks of Ant Media Server, as `AntMediaApplicationAdapter` sends them.
@Suite struct AntMediaHookTests {
    private let hook = AntMediaHook()

    private func body(_ action: String, at milliseconds: Int = 1_769_860_800_123, _ more: String = "") -> String {
        #"{"id":"lobby__alice","action":"\#(action)","streamName":null,"category":null,"vodName":null,"vodId":null,"#
            + #""app":"live","metadata":null\#(more),"timestamp":"\#(milliseconds)"}"#
    }

    private func read(_ request: HookRequest, _ reader: HookReader? = nil) throws -> HookOutcome {
        try hook.outcome(of: request, reader: reader ?? NginxRTMPHookTests.reader())
    }

    @Test func aStreamBeginsAndEnds() throws {
        let begin = try read(HookExamples.json(body("liveStreamStarted")))
        #expect(begin.words == ["lobby: stream.published alice/camera"] && begin.weight == .informative)
        #expect(begin.urls == ["rtmp://127.0.0.1/live/lobby__alice"])
        #expect(begin.events.first?.time == 1_769_860_800.123)
        #expect(begin.events.first?.id?.contains("lobby__alice") == false, "a name may be a key")
        #expect(
            try read(HookExamples.json(body("liveStreamEnded"))).words == ["lobby: stream.unpublished alice/camera"])
        let form = try read(
            HookExamples.form("id=lobby__alice&action=liveStreamStarted&app=live&timestamp=1769860800123"))
        #expect(form == begin)
        #expect(hook.answer(.accepted, to: begin).status == 200)
    }

    /// Webhooks arrive in any order; the server's timestamp decides.
    @Test func theTimestampDecides() throws {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "lobby")
        func arrive(_ action: String, _ time: Int) throws {
            for event in try read(HookExamples.json(body(action, at: time))).events {
                guard case .pass(let passed) = sessions.admit(event, of: "ant-media", peer: "p", now: 0) else {
                    continue
                }
                _ = RoomMachine.apply(passed, to: &room)
            }
        }
        try arrive("liveStreamEnded", 2000)
        try arrive("liveStreamStarted", 1000)
        #expect(!room.hasStreams, "it had ended when its beginning arrived")
        try arrive("liveStreamStarted", 3000)
        #expect(room.hasStreams)
        try arrive("liveStreamEnded", 2500)
        #expect(room.hasStreams)
    }

    /// Releases before 2.8 send a form without a time.
    @Test func withoutATimeTheArrivalDecides() throws {
        let outcome = try read(HookExamples.form("id=lobby__alice&action=liveStreamStarted&app=live"))
        #expect(outcome.events.map(\.id) == [nil] && outcome.events.map(\.time) == [nil])
        #expect(outcome.words == ["lobby: stream.published alice/camera"])
    }

    @Test func membersOfAConferenceAreParticipants() throws {
        let room = #","mainTrackId":"lobby","streamId":"alice""#
        #expect(
            try read(HookExamples.json(body("subtrackAddedInTheMainTrack", room))).words
                == ["lobby: participant.joined alice"])
        #expect(
            try read(HookExamples.json(body("subtrackLeftTheMainTrack", room))).words
                == ["lobby: participant.left alice"])
        let stream = try read(HookExamples.json(body("liveStreamStarted", room)))
        #expect(stream.words == ["lobby: stream.published alice/camera"])
        #expect(stream.urls == ["rtmp://127.0.0.1/live/alice"])
        #expect(throws: InputError.self) { try read(HookExamples.json(body("subtrackAddedInTheMainTrack"))) }
    }

    private func body(_ action: String, _ more: String) -> String { body(action, at: 1_769_860_800_123, more) }

    @Test func aPublisherIsLetInIfItsNameIs() throws {
        func question(_ mode: String, _ stream: String = "lobby__alice") -> HookRequest {
            HookExamples.json(
                #"{"appName":"live","name":"n","streamId":"\#(stream)","mode":"\#(mode)","token":null,"#
                    + #""subscriberId":null,"subscriberCode":null,"metaData":null,"queryParams":"room=r&user=u"}"#)
        }
        #expect(try read(question("publish")) == HookOutcome(call: "publish", weight: .decisive))
        #expect(try read(question("publish", "odd")).unmatched != nil)
        #expect(try read(question("play")).unmatched == nil)
        #expect(try read(question("publish", "odd"), NginxRTMPHookTests.reader(arguments: true)).unmatched == nil)
        #expect(hook.answer(.refused("why"), to: nil).status == 403)
    }

    @Test func othersConcernNoRoom() throws {
        for action in [
            "liveStreamStatus", "vodReady", "publishTimeoutError", "encoderNotOpenedError", "endpointFailed",
            "playStarted", "playStopped", "firstActiveTrackAddedInMainTrack", "noActiveSubtracksLeftInMainTrack", "new",
        ] {
            #expect(try read(HookExamples.json(body(action))) == .ignored("other"))
        }
        for text in ["", "{}", "[]", #"{"action":"liveStreamStarted"}"#] {
            #expect(throws: InputError.self) { try read(HookExamples.json(text)) }
        }
    }
}
