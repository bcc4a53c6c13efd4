import Foundation
import MixModel
import Testing

@testable import EventSubscription

/// What holds for every hook, also for one that is added later.
@Suite struct EventHooksTests {
    private static let secret = HookSecret("0123456789abcdef")
    private static let documentation = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs/hooks.md").standardizedFileURL

    @Test func namesAreSegmentsOfAPathAndDifferent() {
        let names = EventHooks.all.map(\.name)
        #expect(Set(names).count == names.count && !names.isEmpty)
        for name in names {
            #expect(name.wholeMatch(of: /[a-z][a-z0-9-]{1,31}/) != nil, "\(name)")
            #expect(!["unmatched", "other"].contains(name), "a setting or a label has this name")
        }
    }

    @Test func everyHookHasASectionInTheDocumentation() throws {
        let text = try String(contentsOf: Self.documentation, encoding: .utf8)
        for hook in EventHooks.all {
            #expect(text.contains("\n## \(hook.name)\n"), "docs/hooks.md has no section \(hook.name)")
            #expect(text.contains("/v1/hooks/\(hook.name)"), "docs/hooks.md does not show the path of \(hook.name)")
        }
    }

    @Test func theExampleOfEveryHookBeginsAStream() throws {
        for hook in EventHooks.all {
            let settings = HookSettings(
                secret: Self.secret, names: try NamePatterns([]),
                urlTemplate: try HookURLTemplate("rtmp://127.0.0.1/{app}/{name}"))
            let reader = HookReader(settings: settings, parser: EventParser(allowList: .loopbackOnly))
            #expect(hook.methods.contains(hook.example.method), "\(hook.name)")
            let outcome = try hook.outcome(of: hook.example, reader: reader)
            #expect(outcome.unmatched == nil && outcome.refusal == nil, "\(hook.name)")
            let published = outcome.events.contains { event in
                guard case .streamPublished(let publication) = event.kind else { return false }
                return publication.user == "alice"
            }
            #expect(published && outcome.events.allSatisfy { $0.room == "lobby" }, "\(hook.name)")
        }
    }

    @Test func noHookBelievesAStranger() {
        for hook in EventHooks.all {
            #expect(hook.shortestSecret >= 6)
            var request = hook.example
            #expect(!hook.isAuthentic(request, secret: Self.secret), "\(hook.name)")
            request.query = "token=0123456789abcdee"
            request.headers.append(.init(name: "authorization", value: "Bearer 0123456789abcde"))
            #expect(!hook.isAuthentic(request, secret: Self.secret), "\(hook.name)")
            guard !hook.signsBody else { continue }
            request.query = "token=0123456789abcdef"
            #expect(hook.isAuthentic(request, secret: Self.secret), "\(hook.name)")
        }
    }

    /// Success lets publishers go on, and nothing else does.
    @Test func answersSayYesOrNo() throws {
        for hook in EventHooks.all {
            let settings = HookSettings(secret: Self.secret, names: try NamePatterns([]))
            let reader = HookReader(
                settings: settings,
                parser: EventParser(allowList: .loopbackOnly, urlTemplate: "rtmp://127.0.0.1/{room}/{user}"))
            let outcome = try hook.outcome(of: hook.example, reader: reader)
            let (yes, no) = (hook.answer(.accepted, to: outcome), hook.answer(.refused("why"), to: outcome))
            #expect(200..<300 ~= yes.status && yes != no, "\(hook.name)")
            #expect((yes.contentType == nil) == yes.body.isEmpty, "\(hook.name)")
            #expect(hook.answer(.failed("why"), to: outcome) != yes, "\(hook.name)")
        }
    }
}
