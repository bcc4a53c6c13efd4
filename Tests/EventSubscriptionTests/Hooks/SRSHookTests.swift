import MixModel
import Testing

@testable import EventSubscription

/// The callbacks of SRS, as `srs_app_http_hooks.cpp` writes them.
@Suite struct SRSHookTests {
    private let hook = SRSHook()

    private func body(_ action: String, stream: String = "lobby__alice", param: String = "", more: String = "")
        -> String
    {
        #"{"server_id":"vid-k21d7y2","service_id":"9t3k2h8","action":"\#(action)","client_id":"9308h583","#
            + #""ip":"192.168.1.10","vhost":"__defaultVhost__","app":"live","tcUrl":"rtmp://h/live","#
            + #""stream":"\#(stream)","param":"\#(param)","stream_url":"/live/\#(stream)","stream_id":"vid-0n9zoz3"\#(more)}"#
    }

    private func read(_ text: String, _ reader: HookReader? = nil) throws -> HookOutcome {
        try hook.outcome(of: HookExamples.json(text), reader: reader ?? NginxRTMPHookTests.reader())
    }

    @Test func aPublisherBeginsAndEnds() throws {
        let begin = try read(body("on_publish"))
        #expect(begin.weight == .decisive && begin.words == ["lobby: stream.published alice/camera"])
        #expect(begin.urls == ["rtmp://127.0.0.1/live/lobby__alice"])
        #expect(begin.events.map(\.session) == [HookSession(id: "9308h583", step: .begins)])
        let end = try read(body("on_unpublish"))
        #expect(end.weight == .informative && end.words == ["lobby: stream.unpublished alice/camera"])
        #expect(end.events.map(\.session) == [HookSession(id: "9308h583", step: .ends)])
    }

    /// SRS parses the answer: only the number 0 as `code` lets the publisher go on.
    @Test func answersHaveABody() throws {
        let outcome = try read(body("on_publish"))
        let yes = hook.answer(.accepted, to: outcome)
        #expect(yes.status == 200 && yes.text == #"{"code":0}"# && yes.contentType == "application/json")
        let no = hook.answer(.refused("the \"room\"\nis full\u{1}"), to: outcome)
        #expect(no.status == 403)
        let document = try JSONValue(parsing: no.body)
        #expect(document == .object(["code": .number(403), "msg": .string("the \"room\"\nis full\u{1}")]))
        #expect(hook.answer(.failed("why"), to: nil).status == 503)
    }

    @Test func othersConcernNoRoom() throws {
        let close =
            #"{"server_id":"v","service_id":"s","action":"on_close","client_id":"1","ip":"::1","vhost":"v","app":"a","send_bytes":1,"recv_bytes":2}"#
        let hls =
            #"{"action":"on_hls","client_id":"1","ip":"::1","vhost":"v","app":"live","stream":"a__b","param":"","duration":9.36,"cwd":"/","file":"./a.ts","url":"a.ts","m3u8":"a.m3u8","m3u8_url":"a.m3u8","seq_no":100}"#
        for text in [body("on_stop"), body("on_dvr", more: #","cwd":"/","file":"a.flv""#), close, hls, body("on_new")] {
            let outcome = try read(text)
            #expect(outcome.events.isEmpty && outcome.unmatched == nil && outcome.weight == .informative)
            #expect(hook.answer(.accepted, to: outcome).text == #"{"code":0}"#)
        }
        for text in [body("on_connect"), body("on_play", more: #","pageUrl":"""#)] {
            #expect(try read(text) == HookOutcome(call: try read(text).call, weight: .decisive))
        }
    }

    @Test func argumentsAndHostsAreRead() throws {
        let named = try read(
            body("on_publish", stream: "key", param: "?token=x&room=r&user=u"),
            NginxRTMPHookTests.reader(arguments: true))
        #expect(named.words == ["r: stream.published u/camera"])
        let hosted = body("on_publish").replacing("__defaultVhost__", with: "live.example")
        let reader = try NginxRTMPHookTests.reader(patterns: [
            "live.example/{app}/{room}__{user}", "other/live/{room}__{user}",
        ])
        #expect(try read(hosted, reader).unmatched?.contains("app") == true, "live is no configured app")
        #expect(
            try read(hosted, NginxRTMPHookTests.reader(patterns: ["live.example/live/{room}__{user}"])).words
                == ["lobby: stream.published alice/camera"])
        #expect(
            try read(body("on_publish"), NginxRTMPHookTests.reader(patterns: ["live.example/live/{room}__{user}"]))
                .unmatched != nil)
    }

    @Test(arguments: ["", "0", "[]", "{}", #"{"action":1.5}"#, #"{"action":"on_publish"}"#, "action=on_publish"])
    func whatSRSNeverSendsIsRefused(_ text: String) {
        #expect(throws: InputError.self) { try read(text) }
    }
}
