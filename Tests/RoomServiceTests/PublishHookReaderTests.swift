import EventSubscription
import MixModel
import Testing

@testable import RoomService

/// The consequences of an answer to `ingest.onPublish`.
@Suite struct PublishHookReaderTests {
    private static func names(_ user: UserID = "alice", room: String = "lobby", stream: StreamKind = .camera)
        -> StreamNames
    {
        StreamNames(room: RoomID(app: .standard, name: room), user: user, stream: stream)
    }

    private func decision(
        _ body: String?, code: Int = 200, result: WebhookAnswer.Result = .delivered, isNameless: Bool = false
    ) -> PublishHookDecision {
        let reader = PublishHookReader(
            app: .standard, names: isNameless ? nil : Self.names(), mismatch: "the stream key is in no room")
        var answer = WebhookAnswer(result: result, code: code, error: "answered \(code)")
        answer.body = body.map { Array($0.utf8) }
        return reader.decision(on: answer, within: .seconds(3))
    }

    private func reason(_ decision: PublishHookDecision) -> String? {
        if case .refused(_, let reason, _) = decision { reason } else { nil }
    }

    private func log(_ decision: PublishHookDecision) -> String {
        if case .refused(_, _, let log) = decision { log } else { "" }
    }

    @Test func anEmptyAnswerAndTrueAllow() {
        for body in ["", "{}", #"{"allow": true}"#, #"{"allow": true, "room": null}"#] {
            #expect(decision(body) == .allowed(Self.names()), "\(body)")
        }
    }

    @Test func namesAreGiven() {
        #expect(decision(#"{"user": "carol"}"#) == .allowed(Self.names("carol")))
        #expect(
            decision(#"{"room": "hall", "user": "carol", "stream": "screen"}"#)
                == .allowed(Self.names("carol", room: "hall", stream: .screen)))
        #expect(
            decision(#"{"room": "hall", "user": "carol"}"#, isNameless: true)
                == .allowed(Self.names("carol", room: "hall")))
        // A stream key without a room needs both.
        for body in ["", "{}", #"{"user": "carol"}"#] {
            #expect(reason(decision(body, isNameless: true)) == "the stream key is in no room", "\(body)")
        }
        for body in [#"{"user": "a b"}"#, #"{"room": ""}"#, #"{"stream": "hologram"}"#] {
            #expect(reason(decision(body)) == PublishHookReader.fault, "\(body)")
            #expect(log(decision(body)).contains("ingest.onPublish answered with a"))
        }
    }

    @Test func theReasonIsPassedOn() {
        let denied = decision(#"{"allow": false, "reason": "your subscription has ended"}"#)
        #expect(
            denied
                == .refused(
                    isName: false, reason: "your subscription has ended", log: "ingest.onPublish does not allow it"))
        #expect(reason(decision(#"{"reason": "banned"}"#, code: 403, result: .refused)) == "banned")
        for body in [#"{"allow": false}"#, #"{"allow": false, "reason": ""}"#] {
            #expect(reason(decision(body)) == "publishing is not allowed")
        }
        // The hook must not cause long texts, line breaks or URLs with secrets.
        let long = reason(decision(#"{"allow": false, "reason": "\#(String(repeating: "é", count: 400))"}"#))
        #expect((long?.utf8.count ?? .max) <= PublishHookReader.longestReason)
        #expect(reason(decision(#"{"allow": false, "reason": "a\nb"}"#)) == #"a\nb"#)
        #expect(
            reason(decision(#"{"allow": false, "reason": "see rtmp://h/live/key?token=s3cret"}"#))?.contains("s3cret")
                == false)
    }

    @Test func everythingElseRefuses() {
        let misspelt = decision(#"{"allowed": false}"#)
        #expect(reason(misspelt) == PublishHookReader.fault)
        #expect(log(misspelt).contains("none of allow, reason, room, stream, user"))
        for body in ["so be it", "[]", "true", #"{"allow": "no"}"#, #"{"allow": 0}"#, #"{"user": 1}"#, "{"] {
            #expect(reason(decision(body)) == PublishHookReader.fault, "\(body)")
        }
        #expect(log(decision(nil)).contains("more than 16384 bytes"))
        for (code, result) in [
            (500, .refused), (429, .refused), (408, .refused), (302, .redirected), (0, .timeout), (0, .unreachable),
            (0, .forbidden), (0, .abandoned),
        ] as [(Int, WebhookAnswer.Result)] {
            #expect(reason(decision("", code: code, result: result)) == PublishHookReader.fault, "\(code) \(result)")
        }
        #expect(log(decision("", result: .timeout)) == "ingest.onPublish did not answer within 3.0 s")
        for code in [400, 401, 403, 404] {
            #expect(reason(decision("", code: code, result: .refused)) == "publishing is not allowed", "\(code)")
        }
    }

    @Test func theQuestionHasNoSecretOfTheService() throws {
        let request = IngestRequest(
            request: 1, isPublish: true, application: "live", name: "k3y",
            query: "token=s3cret&auth_key=1-2-3-4&title=a%20b&title=c", address: "10.0.0.1", session: "r-1")
        let question = PublishHookQuestion(request, app: .standard, names: nil)
        let text = String(buffer: jsonBytes(question))
        #expect(
            text
                == #"{"address":"10.0.0.1","app":"default","application":"live","arguments":{"title":"a b"},"id":"pub_r-1","name":"k3y","type":"ingest.publish"}"#
        )
    }
}

/// The order in which work for the streams is done.
@Suite struct IngestLanesTests {
    private static func key(_ room: String, _ user: UserID = "alice") -> IngestStreamKey {
        IngestStreamKey(
            StreamNames(room: RoomID(app: .standard, name: room), user: user, stream: .camera))
    }

    private static func begin(_ room: String, _ number: Int) -> IngestLanes.Work {
        .begin(
            key(room),
            IngestRequest(
                request: number, isPublish: true, application: "live", name: "x", query: "", address: "::1",
                session: "r-\(number)"), process: 1)
    }

    @Test func workOfARoomKeepsItsOrderAndRoomsDoNotWait() {
        var lanes = IngestLanes()
        let end = IngestLanes.Work.end(Self.key("a"), session: "r-1")
        #expect(lanes.add(Self.begin("a", 1)) == .first && lanes.add(end) == .waits)
        #expect(lanes.add(Self.begin("b", 2)) == .first, "another room")
        #expect(lanes.next(in: RoomID(app: .standard, name: "a")) == Self.begin("a", 1))
        #expect(lanes.add(Self.begin("a", 3)) == .waits, "the first is still being done")
        #expect(lanes.next(in: RoomID(app: .standard, name: "a")) == end)
        #expect(lanes.next(in: RoomID(app: .standard, name: "a")) == Self.begin("a", 3))
        #expect(!lanes.isIdle(RoomID(app: .standard, name: "a")))
        #expect(lanes.next(in: RoomID(app: .standard, name: "a")) == nil)
        #expect(lanes.isIdle(RoomID(app: .standard, name: "a")) && lanes.count == 1)
        #expect(lanes.add(end) == .first)
    }

    @Test func theyAreBounded() {
        var lanes = IngestLanes()
        for number in 0..<IngestLanes.mostInRoom { #expect(lanes.add(Self.begin("a", number)) != .full) }
        #expect(lanes.add(Self.begin("a", 1000)) == .full)
        // An event that has already happened is noted, even if many streams wait to begin.
        #expect(lanes.add(.end(Self.key("a"), session: "s")) == .waits)
        while lanes.count < IngestLanes.most { #expect(lanes.add(.interrupted(Self.key("a"), session: "s")) == .waits) }
        #expect(lanes.add(.interrupted(Self.key("b"), session: "s")) == .full)
        #expect(lanes.add(Self.begin("b", 1)) == .full)
    }

    /// An end that is dropped is not reported again.
    @Test func endsFindRoomBesideOtherWork() {
        var lanes = IngestLanes()
        while lanes.count < IngestLanes.most { _ = lanes.add(.look(Self.key("a"))) }
        #expect(lanes.add(.look(Self.key("a"))) == .full)
        #expect(lanes.add(.end(Self.key("b"), session: "s")) == .first)
        while lanes.count < IngestLanes.mostWithEnds { _ = lanes.add(.end(Self.key("a"), session: "s")) }
        #expect(lanes.add(.end(Self.key("c"), session: "s")) == .full)
    }
}
