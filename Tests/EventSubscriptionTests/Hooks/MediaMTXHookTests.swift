import MixModel
import Testing

@testable import EventSubscription

/// The posts of MediaMTX's commands, and its requests of `authMethod: http`.
@Suite struct MediaMTXHookTests {
    private let hook = MediaMTXHook()

    private func read(_ request: HookRequest, _ reader: HookReader? = nil) throws -> HookOutcome {
        try hook.outcome(of: request, reader: reader ?? NginxRTMPHookTests.reader())
    }

    private func question(
        _ action: String, path: String = "live/lobby__alice", query: String = "", ip: String = "192.0.2.9"
    ) -> HookRequest {
        HookExamples.json(
            #"{"user":"","password":"","token":"","ip":"\#(ip)","action":"\#(action)","path":"\#(path)","#
                + #""protocol":"rtmp","id":"5a1f7d1e-7b6c-4f0e-9a53-0d9b8f5d3c11","query":"\#(query)","userAgent":"OBS"}"#
        )
    }

    @Test(arguments: ["ready", "available"], ["form", "json"])
    func aPathIsReady(_ event: String, _ kind: String) throws {
        let request =
            kind == "form"
            ? HookExamples.form("event=\(event)&path=live%2Flobby__alice&source_type=rtmpConn&source_id=5a1f")
            : HookExamples.json(#"{"event":"\#(event)","path":"live/lobby__alice","source_id":"5a1f","query":""}"#)
        let outcome = try read(request)
        #expect(outcome.words == ["lobby: stream.published alice/camera"] && outcome.weight == .informative)
        #expect(outcome.urls == ["rtmp://127.0.0.1/live/lobby__alice"])
        #expect(outcome.events.map(\.session) == [HookSession(id: "5a1f", step: .begins)])
    }

    @Test(arguments: ["notReady", "unavailable"]) func aPathIsGone(_ event: String) throws {
        let outcome = try read(HookExamples.form("event=\(event)&path=live/lobby__alice&source_id=5a1f"))
        #expect(outcome.words == ["lobby: stream.unpublished alice/camera"])
        #expect(outcome.events.map(\.session) == [HookSession(id: "5a1f", step: .ends)])
    }

    @Test func pathsHaveUpToThreeParts() throws {
        let reader = try NginxRTMPHookTests.reader(
            url: "rtmp://127.0.0.1/{vhost}/{app}/{name}", patterns: ["shop/{room}/{user}"])
        let outcome = try read(HookExamples.form("event=ready&path=/shop/lobby/alice/&source_id=1"), reader)
        #expect(outcome.words == ["lobby: stream.published alice/camera"])
        #expect(outcome.urls == ["rtmp://127.0.0.1/shop/lobby/alice"])
        for path in ["a/b/c/d", "/", "a__b"] {
            #expect(
                try read(HookExamples.form("event=ready&path=\(path)&source_id=1"), reader).unmatched != nil, "\(path)")
        }
    }

    /// RTMP URLs need an application before the name.
    @Test func aPathThatCannotBePulledIsRefused() throws {
        let outcome = try read(question("publish", path: "lobby__alice"))
        #expect(outcome.refusal?.expected.contains("live/lobby__alice") == true && outcome.weight == .decisive)
    }

    @Test func aPublisherIsLetInIfItsNameIs() throws {
        let good = try read(question("publish"))
        #expect(good == HookOutcome(call: "publish", weight: .decisive))
        #expect(hook.answer(.accepted, to: good).status == 204)
        #expect(try read(question("publish", path: "live/odd")).unmatched != nil)
        let foreign = try read(question("publish"), NginxRTMPHookTests.reader(url: "rtmp://media.example/{app}/{name}"))
        #expect(foreign.refusal?.code == .refusedURL && foreign.weight == .decisive)
        #expect(hook.answer(.refused("why"), to: foreign).status == 403)
        let named = try read(
            question("publish", path: "live/key", query: "room=r&user=u"), NginxRTMPHookTests.reader(arguments: true))
        #expect(named.unmatched == nil && named.refusal == nil)
    }

    /// Viewers are admitted, but may not control the server.
    @Test func viewersAreLetInAndStrangersDoNotRule() throws {
        for action in ["read", "playback", "something_new"] {
            let outcome = try read(question(action))
            #expect(outcome.events.isEmpty && outcome.unmatched == nil && outcome.refusal == nil, "\(action)")
        }
        for action in ["api", "metrics", "pprof"] {
            let stranger = try read(question(action, path: ""))
            #expect(stranger.weight == .decisive && stranger.refusal?.expected.contains("authHTTPExclude") == true)
            for ip in ["127.0.0.1", "::1"] { #expect(try read(question(action, path: "", ip: ip)).refusal == nil) }
        }
    }

    @Test func othersConcernNoRoom() throws {
        for event in ["online", "read", "connect", "recordSegmentCreate"] {
            #expect(try read(HookExamples.form("event=\(event)&path=live/a__b")) == .ignored("other"))
        }
        for text in ["", "path=a", "event=ready"] {
            #expect(throws: InputError.self) { try read(HookExamples.form(text)) }
        }
    }
}
