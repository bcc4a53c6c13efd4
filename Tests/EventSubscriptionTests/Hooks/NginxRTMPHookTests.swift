import MixModel
import TestSupport
import Testing

@testable import EventSubscription

/// The callbacks of nginx-rtmp, as its source code writes them.
@Suite struct NginxRTMPHookTests {
    private let hook = NginxRTMPHook()

    static func reader(
        url: String? = "rtmp://127.0.0.1/{app}/{name}", arguments: Bool = false, patterns: [String] = []
    ) throws -> HookReader {
        HookReader(
            settings: HookSettings(
                secret: HookSecret("0123456789abcdef"),
                names: try NamePatterns(patterns, allowsArguments: arguments),
                urlTemplate: try url.map { text throws(InputError) in try HookURLTemplate(text) }),
            parser: EventParser(allowList: .loopbackOnly))
    }

    private func read(_ form: String, _ reader: HookReader? = nil) throws -> HookOutcome {
        let reader = try reader ?? Self.reader()
        let posted = try hook.outcome(of: HookRequest(method: .post, body: Array(form.utf8)), reader: reader)
        let got = try hook.outcome(of: HookRequest(method: .get, query: form), reader: reader)
        #expect(got == posted)
        return posted
    }

    private static let session = "app=live&flashver=&swfurl=&tcurl=rtmp://h/live&pageurl=&addr=10.0.0.1&clientid=7"

    @Test func aPublisherBegins() throws {
        let outcome = try read(Self.session + "&call=publish&name=lobby__alice&type=live")
        #expect(outcome.weight == .decisive && outcome.unmatched == nil && outcome.refusal == nil)
        let publication = Publication(user: "alice", url: "rtmp://127.0.0.1/live/lobby__alice")
        #expect(
            outcome.events
                == [
                    HookEvent(
                        room: "lobby", kind: .streamPublished(publication), session: HookSession(id: "7", step: .begins)
                    )
                ])
    }

    @Test(arguments: [
        ("publish_done", HookSession.Step.ends, HookOutcome.Weight.informative), ("done", .mayEnd, .informative),
    ])
    func aPublisherEnds(_ call: String, _ step: HookSession.Step, _ weight: HookOutcome.Weight) throws {
        let outcome = try read(Self.session + "&call=\(call)&name=lobby__alice")
        #expect(outcome.weight == weight && outcome.events.map(\.session) == [HookSession(id: "7", step: step)])
        #expect(outcome.events.map(\.kind) == [.streamUnpublished(user: "alice", stream: .camera, reason: nil)])
    }

    @Test func anUpdateKeepsThePublisherWhateverHappens() throws {
        let update = Self.session + "&call=update_publish&time=30&timestamp=30011&name="
        #expect(try read(update + "lobby__alice").events.map(\.session?.step) == [.continues])
        #expect(try read(update + "odd").weight == .fragile)
        let refused = try read(update + "lobby__alice", Self.reader(url: "rtmp://media.example/{name}"))
        #expect(refused.weight == .fragile && refused.refusal?.code == .refusedURL && refused.events.isEmpty)
    }

    @Test(arguments: ["connect", "play", "play_done", "record_done", "disconnect", "update_play", "something_new"])
    func othersConcernNoRoom(_ call: String) throws {
        let outcome = try read(Self.session + "&call=\(call)&name=lobby__alice")
        #expect(outcome.events.isEmpty && outcome.unmatched == nil && outcome.refusal == nil)
        #expect(outcome.call.utf8.count < 20)
        #expect(hook.answer(.accepted, to: outcome).status == 204)
    }

    /// Publishers control the end of the form.
    @Test func whatThePublisherAppendsChangesNothing() throws {
        let form = Self.session + "&call=publish&name=lobby__alice&type=live"
        let plain = try read(form)
        #expect(try read(form + "&name=other__eve&call=publish_done&app=evil&clientid=1&room=r&user=u") == plain)
        #expect(try read(form + "&" + String(repeating: "&=%&", count: 9000)) == plain)
        let named = try read(form + "&room=r&user=u&room=s", Self.reader(arguments: true))
        #expect(named.events.first?.room == "r")
    }

    @Test func namesInEveryEncodingAreRead() throws {
        #expect(try read(Self.session + "&call=publish&name=caf%C3%A9__%E6%97%A5").events.first?.room == "café")
        #expect(try read(Self.session + "&call=publish&name=a%20b__c").unmatched?.contains("not valid") == true)
        #expect(try read(Self.session + "&call=publish&name=%FF__c").unmatched == "the name is not UTF-8")
        let outcome = try read(Self.session + "&call=publish&name=", Self.reader())
        #expect(outcome.unmatched != nil)
        let encoded = try read(Self.session + "&call=publish&name=a__%C3%A9")
        guard case .streamPublished(let publication)? = encoded.events.first?.kind else { return #expect(Bool(false)) }
        #expect(publication.url == "rtmp://127.0.0.1/live/a__%C3%A9")
    }

    @Test(arguments: ["", "name=a__b", "call=publish", "%", "&&&&", "call", "{\"call\":\"publish\"}"])
    func whatNginxNeverSendsIsRefused(_ form: String) {
        let request = HookRequest(method: .post, body: Array(form.utf8))
        if form == "call" {
            #expect(throws: Never.self) { try hook.outcome(of: request, reader: Self.reader()) }
        } else {
            #expect(throws: InputError.self) { try hook.outcome(of: request, reader: Self.reader()) }
        }
    }

    @Test func withoutAURLNobodyIsPulled() throws {
        let form = Self.session + "&call=publish&name=lobby__alice"
        let outcome = try read(form, Self.reader(url: nil))
        #expect(outcome.refusal?.code == .missingField && outcome.events.isEmpty)
        let template = HookReader(
            settings: try Self.reader(url: nil).settings,
            parser: EventParser(allowList: .loopbackOnly, urlTemplate: "rtmp://127.0.0.1/{app}/{room}/{user}/{stream}"))
        guard case .streamPublished(let publication)? = try read(form, template).events.first?.kind else {
            return #expect(Bool(false))
        }
        #expect(publication.url == "rtmp://127.0.0.1/default/lobby/alice/camera")
    }

    @Test func hostileBytesDoNoHarm() throws {
        var random = SeededGenerator(announcedFor: "hostile callbacks")
        let valid = ["publish", "publish_done", "done", "update_publish", "connect"].map {
            Array((Self.session + "&call=\($0)&name=lobby__alice&type=live&room=%41&user=b+c").utf8)
        }
        let reader = try Self.reader(
            arguments: true, patterns: ["{room}__{user}", "*-{user}", "{app}/{room}.{user}.{stream}"])
        var taken = 0
        for _ in 0..<20_000 {
            let bytes = HostileBytes.any(valid, using: &random)
            if let outcome = try? hook.outcome(of: HookRequest(method: .post, body: bytes), reader: reader) {
                taken += outcome.events.count
                for event in outcome.events { #expect(event.room.name.utf8.count <= 128) }
            }
        }
        #expect(taken > 300)
    }

    @Test func longFormsAreCheap() throws {
        let reader = try Self.reader(arguments: true, patterns: Array(repeating: "{room}__{user}", count: 16))
        let huge = [
            String(repeating: "a", count: HookRequest.longestBody), String(repeating: "name=a&", count: 9000),
            Self.session + "&call=publish&name=" + String(repeating: "%CC%81", count: 10_000),
            Self.session + "&call=publish&name=" + String(repeating: "_", count: 60_000),
            Self.session + "&call=" + String(repeating: "a%CC%81", count: 8000),
        ]
        let time = ContinuousClock().measure {
            for form in huge {
                _ = try? hook.outcome(of: HookRequest(method: .post, body: Array(form.utf8)), reader: reader)
            }
        }
        #expect(time < .seconds(30))
    }
}
