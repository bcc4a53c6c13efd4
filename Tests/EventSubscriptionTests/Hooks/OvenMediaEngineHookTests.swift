import Foundation
import MixModel
import Testing

@testable import EventSubscription

/// Admission webhooks of OvenMediaEngine, as in its documentation.
@Suite struct OvenMediaEngineHookTests {
    private let hook = OvenMediaEngineHook()

    private func body(
        _ status: String, direction: String = "incoming",
        url: String = "rtmp://live.example:1935/app/lobby__alice?room=r&user=u"
    ) -> String {
        """
        {
            "client": { "address": "211.233.58.86", "port": 29291, "real_ip": "192.0.2.7", "user_agent": "OBS" },
            "request": {
                "direction": "\(direction)", "protocol": "rtmp", "status": "\(status)",
                "url": "\(url)", "new_url": "", "time": "2021-05-12T13:45:00.000Z"
            }
        }
        """
    }

    private func read(_ text: String, _ reader: HookReader? = nil) throws -> HookOutcome {
        try hook.outcome(of: HookExamples.json(text), reader: reader ?? NginxRTMPHookTests.reader())
    }

    private func signed(_ text: String, _ secret: String) -> HookRequest {
        let code = Data(HookSignature.hmac(.sha1, of: Array(text.utf8), key: HookSecret(secret)))
        let sign = code.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
        return HookExamples.json(text, headers: [.init(name: "x-ome-signature", value: sign)])
    }

    @Test func aPublisherBeginsAndEnds() throws {
        let begin = try read(body("opening"))
        #expect(begin.weight == .decisive && begin.words == ["lobby: stream.published alice/camera"])
        #expect(begin.urls == ["rtmp://127.0.0.1/app/lobby__alice"])
        #expect(begin.events.map(\.session) == [HookSession(id: "211.233.58.86:29291", step: .begins)])
        #expect(hook.answer(.accepted, to: begin).text == #"{"allowed":true}"#)
        let end = try read(body("closing"))
        #expect(end.weight == .informative && end.words == ["lobby: stream.unpublished alice/camera"])
        #expect(hook.answer(.accepted, to: end).text == "{}")
    }

    /// A refusal is an answer with status 200 too.
    @Test func aRefusalNamesItsReason() throws {
        let answer = hook.answer(.refused("the quota is \"used up\""), to: try read(body("opening")))
        #expect(answer.status == 200 && answer.contentType == "application/json")
        #expect(
            try JSONValue(parsing: answer.body)
                == .object(["allowed": .boolean(false), "reason": .string("the quota is \"used up\"")]))
    }

    @Test(arguments: [
        ("wss://live.example:3333/app/lobby__alice?direction=send", "app"),
        ("srt://192.168.0.160:9999/app/lobby__alice", "app"), ("http://h:3333/app/lobby__alice?direction=whip", "app"),
        ("rtmp://[2001:db8::1]:1935/a+b/lobby__alice", "a%2Bb"),
    ]) func urlsOfEveryProtocolAreRead(_ url: String, _ app: String) throws {
        #expect(try read(body("opening", url: url)).urls == ["rtmp://127.0.0.1/\(app)/lobby__alice"])
    }

    @Test func argumentsAreRead() throws {
        #expect(
            try read(body("opening"), NginxRTMPHookTests.reader(arguments: true)).words
                == ["r: stream.published u/camera"])
        let host = try NginxRTMPHookTests.reader(patterns: ["live.example/app/{room}__{user}"])
        #expect(try read(body("opening"), host).unmatched == nil)
    }

    @Test func viewersAreLetIn() throws {
        let viewer = try read(body("opening", direction: "outgoing", url: "https://h/app/lobby__alice/llhls.m3u8"))
        #expect(viewer.events.isEmpty && viewer.weight == .decisive)
        #expect(hook.answer(.accepted, to: viewer).text == #"{"allowed":true}"#)
        let gone = try read(body("closing", direction: "outgoing"))
        #expect(gone.events.isEmpty && hook.answer(.accepted, to: gone).text == "{}")
    }

    @Test func theSignatureCoversTheBytes() {
        let text = body("opening")
        #expect(hook.isAuthentic(signed(text, "0123456789abcdef"), secret: HookExamples.secret))
        #expect(!hook.isAuthentic(signed(text, "0123456789abcdeg"), secret: HookExamples.secret))
        var changed = signed(text, "0123456789abcdef")
        changed.body.append(UInt8(ascii: " "))
        #expect(!hook.isAuthentic(changed, secret: HookExamples.secret))
        for sign in ["", "====", "AAAA", String(repeating: "A", count: 27), "\u{0}"] {
            let request = HookExamples.json(text, headers: [.init(name: "x-ome-signature", value: sign)])
            #expect(!hook.isAuthentic(request, secret: HookExamples.secret), "\(sign)")
        }
    }

    @Test func whatIsNoAdmissionIsIgnoredOrRefused() throws {
        // Alerts have the same signature and no request.
        let alert = ##"{"sourceUri":"#default#app/stream","messages":[{"code":"OK"}],"type":"INGRESS"}"##
        #expect(try read(alert) == .ignored("other"))
        #expect(try read(body("something_new")) == .ignored("other"))
        #expect(try read(body("opening", url: "rtmp://h/app")).unmatched != nil)
        #expect(try read(body("opening", url: "nothing")).unmatched != nil)
        for text in ["", "[]", #"{"request":{"direction":"incoming"}}"#] {
            #expect(throws: InputError.self) { try read(text) }
        }
    }
}
