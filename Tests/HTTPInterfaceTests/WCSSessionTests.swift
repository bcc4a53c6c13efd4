import EventSubscription
import MixModel
import TestSupport
import Testing

@testable import HTTPInterface

/// One client of Web Call Server's protocol, and the actions that follow its messages.
struct WCSSessionTests {
    private typealias Action = WCSSession.Action

    private static let connection =
        #"{"message":"connection","data":[{"appKey":"defaultApp","authToken":"secret","mediaProviders":["WebRTC"],"custom":{}}]}"#

    private func publish(_ id: String = "a-1", name: String = "ann#lobby", sdp: String = "v=0") -> String {
        #"{"message":"publishStream","data":[{"mediaSessionId":"\#(id)","name":"\#(name)","published":true,"hasVideo":true,"hasAudio":true,"status":"PENDING","record":false,"mediaProvider":"WebRTC","sdp":"\#(sdp)"}]}"#
    }

    private func established() -> WCSSession {
        var session = WCSSession()
        _ = session.received(Self.connection)
        _ = session.admitted()
        return session
    }

    /// Returns the messages that are sent.
    private func sent(_ actions: [WCSSession.Action]) -> [WCSMessage] {
        actions.compactMap { if case .send(let message) = $0 { message } else { nil } }
    }

    /// Returns the identifier, status and info of the only status that is sent.
    private func status(_ actions: [WCSSession.Action]) -> [String?] {
        let all = sent(actions).filter { $0.name == "notifyStreamStatusEvent" }
        guard all.count == 1, let fields = all.first?.fields else { return [] }
        return [fields.text("mediaSessionId"), fields.text("status"), fields.text("info")]
    }

    @Test func aClientIsLetInAndPingedAtOnce() {
        var session = WCSSession()
        guard case .admit(let connect)? = session.received(Self.connection).first else {
            Issue.record("it is not asked to be let in")
            return
        }
        #expect(connect.token == "secret")
        let actions = sent(session.admitted())
        #expect(actions.map(\.name) == ["getUserData", "ping"])
        #expect(actions[0].fields.text("status") == "ESTABLISHED")
        #expect(actions[0].fields.text("authToken") == "secret")
        // A second one changes nothing.
        #expect(session.received(Self.connection) == [])
    }

    @Test func aTokenMayBeInCustom() {
        let fields: [String: JSONValue] = ["authToken": .string("a"), "custom": .object(["token": .string("b")])]
        #expect(WCSConnect(fields).token == "b")
        #expect(WCSConnect(["custom": .string("text")]).token == nil)
    }

    @Test func aRefusedClientIsDisconnected() {
        var session = WCSSession()
        _ = session.received(Self.connection)
        let actions = session.denied("no")
        #expect(actions.last == .close(.refused("no")))
        // The SDK shows the reason as a warning.
        #expect(sent(actions).map(\.name) == ["fail"])
        #expect(sent(actions).first?.fields.text("info") == "no")
        #expect(session.denied("no") == [])
        #expect(session.received(publish()) == [])
    }

    @Test func aStreamGoesThroughItsStatuses() {
        var session = established()
        guard case .begin(let wish)? = session.received(publish()).first else {
            Issue.record("it does not begin")
            return
        }
        #expect(wish.id == "a-1" && wish.name == "ann#lobby" && wish.offer == "v=0" && wish.isPublished)
        let answer = session.answered("a-1", "v=0\r\nanswer")
        #expect(
            sent(answer).first
                == WCSMessage("setRemoteSDP", [.string("a-1"), .string("v=0\r\nanswer"), .boolean(true)]))
        #expect(status(answer) == ["a-1", "PENDING", nil])
        #expect(status(session.connected("a-1")) == ["a-1", "PUBLISHING", nil])
        let end = session.received(
            #"{"message":"unPublishStream","data":[{"mediaSessionId":"a-1","name":"ann#lobby"}]}"#)
        #expect(end.first == .end(id: "a-1"))
        #expect(status(end) == ["a-1", "UNPUBLISHED", "Stopped by user"])
        // Late reports change nothing.
        #expect(session.answered("a-1", "v=0") == [])
        #expect(session.connected("a-1") == [])
        #expect(session.failed("a-1", "x") == [])
    }

    @Test func refusalsHaveTheTextsThatClientsKnow() {
        var early = WCSSession()
        #expect(status(early.received(publish())) == ["a-1", "FAILED", "Session not ready"])
        var session = established()
        #expect(status(session.received(publish(sdp: ""))) == ["a-1", "FAILED", "No common codecs"])
        _ = session.received(publish())
        let twice = sent(session.received(publish()))
        #expect(twice.map(\.name) == ["fail"])
        #expect(twice.first?.fields.text("info") == "MediaSessionId is already in use")
        #expect(status(session.failed("a-1", WCSInfo.nameInUse)) == ["a-1", "FAILED", "Stream name is already in use"])
        let unknown = session.received(#"{"message":"stopStream","data":[{"mediaSessionId":"b"}]}"#)
        #expect(status(unknown) == ["b", "STOPPED", "Session does not exist"])
    }

    @Test func availabilityIsAText() {
        var session = established()
        let ask = session.received(#"{"message":"availableStream","data":[{"mediaSessionId":"b","name":"ann#lobby"}]}"#)
        #expect(ask == [.look(id: "b", name: "ann#lobby")])
        let there = sent(session.looked("b", isThere: true))
        #expect(there.first?.fields == ["id": .string("b"), "status": .string("true"), "info": .string("")])
        let away = sent(session.looked("b", isThere: false))
        #expect(away.first?.fields.text("status") == "false")
    }

    private func play(_ id: String, _ name: String = "ann#lobby") -> String {
        #"{"message":"playStream","data":[{"mediaSessionId":"\#(id)","name":"\#(name)","published":false,"sdp":"v=0"}]}"#
    }

    @Test func aPlayerGoesThroughItsStatuses() {
        var session = established()
        guard case .begin(let wish)? = session.received(play("p-1")).first else {
            Issue.record("it does not begin")
            return
        }
        #expect(wish.id == "p-1" && wish.name == "ann#lobby" && !wish.isPublished)
        let answer = session.answered("p-1", "v=0 answer")
        #expect(sent(answer).map(\.name) == ["setRemoteSDP", "notifyStreamStatusEvent"])
        #expect(sent(answer).last?.fields["published"] == .boolean(false))
        #expect(status(session.connected("p-1")) == ["p-1", "PLAYING", nil])
        // This is a second player of the same stream.
        #expect(session.received(play("p-2")).count == 1)
        let end = session.received(#"{"message":"stopStream","data":[{"mediaSessionId":"p-1","name":"ann#lobby"}]}"#)
        #expect(end.first == .end(id: "p-1"))
        #expect(status(end) == ["p-1", "STOPPED", "Stopped by user"])
        let lost = session.lost("p-2")
        #expect(lost.first == .end(id: "p-2"))
        #expect(status(lost) == ["p-2", "FAILED", "Stopped by publisher stop"])
        #expect(session.lost("p-2") == [])
    }

    @Test func whatPublishersSayReachesPlayersOnly() {
        var session = established()
        _ = session.received(publish())
        _ = session.received(play("p-1"))
        let data = session.received(
            #"{"message":"sendStreamEvent","data":[{"mediaSessionId":"a-1","type":"data","payload":{"count":23}}]}"#)
        #expect(data == [.tell(id: "a-1", type: "data", payload: .object(["count": .number(23)]))])
        let told = sent(session.publisherSent("p-1", "data", .object(["count": .number(23)])))
        #expect(told.map(\.name) == ["notifyStreamEvent"])
        #expect(told.first?.fields.object("payload") == ["count": .number(23)])
        #expect(session.publisherSent("a-1", "data", nil) == [])
        #expect(session.lost("a-1") == [])
        // Players cannot send events.
        for type in ["data", "audioMuted", "resize"] {
            #expect(
                session.received(
                    #"{"message":"sendStreamEvent","data":[{"mediaSessionId":"p-1","type":"\#(type)"}]}"#) == [])
        }
    }

    @Test func mutingIsRemembered() {
        var session = established()
        _ = session.received(publish())
        let muted = session.received(
            #"{"message":"sendStreamEvent","data":[{"mediaSessionId":"a-1","type":"audioMuted"}]}"#)
        #expect(
            muted == [
                .mute(id: "a-1", audio: false, video: nil), .tell(id: "a-1", type: "audioMuted", payload: nil),
            ])
        let state = sent(session.connected("a-1")).first?.fields.object("audioState")
        #expect(state == ["muted": .boolean(true)])
        #expect(
            session.received(#"{"message":"sendStreamEvent","data":[{"mediaSessionId":"zz","type":"audioMuted"}]}"#)
                == [])
    }

    @Test func theOthersAreAnsweredToo() {
        var session = established()
        #expect(sent(session.received(#"{"message":"ping","data":[null]}"#)) == [WCSMessage("pong", [.null])])
        let data = sent(session.received(#"{"message":"sendData","data":[{"operationId":"7","payload":{}}]}"#))
        #expect(data.first?.fields.text("status") == "FAILED")
        let snapshot = sent(session.received(#"{"message":"snapshot","data":[{"mediaSessionId":"a","name":"b"}]}"#))
        #expect(snapshot.first?.fields.text("type") == "snapshotFailed")
        #expect(session.received(#"{"message":"pushLogs","data":[{"logs":"x"}]}"#) == [])
        #expect(session.received(#"{"message":"unheard"}"#) == [])
    }

    /// Clients read the first element of `data` before anything else.
    @Test func everyMessageHasData() throws {
        var session = established()
        var actions = session.received(publish())
        actions += session.answered("a-1", "v=0") + session.connected("a-1") + session.tick()
        actions += session.received(#"{"message":"availableStream","data":[{"mediaSessionId":"b"}]}"#)
        actions += session.terminated("a-1")
        for message in sent(actions) {
            let text = message.text
            #expect(
                try JSONValue(parsing: text.utf8)
                    == .object(["message": .string(message.name), "data": .array(message.data)]))
            #expect(!message.data.isEmpty)
        }
    }

    @Test func clientsWithoutALifeSignAreDisconnected() {
        var session = established()
        for _ in 0..<WCSSession.mostMissed { #expect(sent(session.tick()).map(\.name) == ["ping"]) }
        _ = session.received(publish())
        for _ in 0..<WCSSession.mostMissed { _ = session.tick() }
        let over = session.tick()
        #expect(over == [.end(id: "a-1"), .close(.goingAway("no pong"))])
        #expect(session.tick() == [])
        var silent = WCSSession()
        for _ in 0..<WCSSession.patience {
            #expect(silent.tick() == [])
            #expect(silent.received(#"{"message":"pong","data":[null]}"#) == [])
        }
        #expect(silent.tick() == [.close(.refused("no connection message"))])
    }

    @Test func streamsAreLimited() {
        var session = established()
        for number in 0..<WCSSession.mostStreams { #expect(session.received(publish("\(number)")).count == 1) }
        #expect(status(session.received(publish("more"))) == ["more", "FAILED", "Restricted access"])
        #expect(session.streams.count == WCSSession.mostStreams)
    }

    @Test func whatIsNoMessageEndsTheConnection() {
        for text in ["", "{", "[]", "7", #"{"message":7}"#, #"{"data":[]}"#, "\u{0}"] {
            var session = established()
            #expect(session.received(text) == [.close(WebSocketClose(1003, "not a message of WCS"))], "\(text)")
        }
    }

    /// Arbitrary messages do not crash the session, and the number of streams stays within its limit.
    @Test func arbitraryMessages() {
        var random = SeededGenerator(announcedFor: "WCSSessionTests")
        let names = [
            "connection", "publishStream", "unPublishStream", "stopStream", "playStream", "availableStream",
            "sendStreamEvent", "sendData", "snapshot", "ping", "pong", "x",
        ]
        let values = [
            #""a""#, #""b""#, "null", "7", "[]", "{}", "true", #""audioMuted""#, #""\u0000""#, #""ann#lobby""#, "1e999",
        ]
        for _ in 0..<300 {
            var session = Bool.random(using: &random) ? established() : WCSSession()
            for _ in 0..<100 {
                let fields = ["mediaSessionId", "name", "sdp", "type", "custom", "operationId", "authToken"].filter {
                    _ in
                    Int.random(in: 0..<5, using: &random) > 0
                }.map { #""\#($0)":\#(values.randomElement(using: &random) ?? "")"# }
                let name = names.randomElement(using: &random) ?? ""
                let data = Int.random(in: 0..<20, using: &random) == 0 ? "{}" : "[{\(fields.joined(separator: ","))}]"
                _ = session.received(#"{"message":"\#(name)","data":\#(data)}"#)
                if Int.random(in: 0..<10, using: &random) == 0 { _ = session.admitted() }
                #expect(session.streams.count <= WCSSession.mostStreams)
            }
        }
    }

    @Test func gridsAreFull() {
        for count in 0...16 {
            let sources = (0..<count).map { SourceSelection(user: UserID("u\($0)")) }
            let composition = WCSMixers.composition(sources)
            #expect(composition.panes.count == max(1, count))
            for pane in composition.panes {
                #expect(pane.x.millionths + pane.width.millionths <= 1_000_002)
                #expect(pane.y.millionths + pane.height.millionths <= 1_000_002)
            }
        }
    }
}
