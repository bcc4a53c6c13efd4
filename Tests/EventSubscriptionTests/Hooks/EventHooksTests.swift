import Foundation
import MixModel
import TestSupport
import Testing

@testable import EventSubscription

/// The requirements for every hook, including future ones.
@Suite struct EventHooksTests {
    private static let secret = HookSecret("0123456789abcdef")
    private static let documentation = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../docs").standardizedFileURL

    @Test func namesAreSegmentsOfAPathAndDifferent() {
        let names = EventHooks.all.map(\.name)
        #expect(Set(names).count == names.count && !names.isEmpty)
        for name in names {
            #expect(name.wholeMatch(of: /[a-z][a-z0-9-]{1,31}/) != nil, "\(name)")
            #expect(!["unmatched", "other"].contains(name), "a setting or a label has this name")
        }
    }

    /// Each server has a page with everything to copy: its configuration, ours, how to verify it, and the texts of
    /// refusals.
    @Test func everyHookHasAPageInTheDocumentation() throws {
        let overview = try String(contentsOf: Self.documentation.appending(path: "hooks.md"), encoding: .utf8)
        for hook in EventHooks.all {
            let file = "integrations/\(hook.name).md"
            #expect(overview.contains("| [\(hook.name)](\(file)) |"), "docs/hooks.md does not list \(hook.name)")
            let page = try String(contentsOf: Self.documentation.appending(path: file), encoding: .utf8)
            #expect(page.contains("/v1/hooks/\(hook.name)"), "docs/\(file) does not show the path")
            #expect(page.contains("hooks:\n  \(hook.name):\n    secretFile:"), "docs/\(file) does not enable the hook")
            for heading in ["## Configuration of the service", "## See that it works", "## Refusals"] {
                #expect(page.contains("\n\(heading)\n"), "docs/\(file) has no \(heading)")
            }
            let hasPoll = page.contains("    poll: ")
            #expect(hasPoll == (StreamInventories.of(hook.name) != nil), "docs/\(file): poll")
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
            request.arrival = 1_769_860_800
            #expect(!hook.isAuthentic(request, secret: Self.secret), "\(hook.name)")
            request.query = "token=0123456789abcdee"
            request.headers.append(.init(name: "authorization", value: "Bearer 0123456789abcde"))
            #expect(!hook.isAuthentic(request, secret: Self.secret), "\(hook.name)")
            guard !hook.signsBody else { continue }
            request.query = "token=0123456789abcdef"
            #expect(hook.isAuthentic(request, secret: Self.secret), "\(hook.name)")
        }
    }

    /// Arbitrary bytes do no harm, even with the right secret.
    @Test func hostileBodiesDoNoHarm() throws {
        var random = SeededGenerator(announcedFor: "hostile hooks")
        let valid = EventHooks.all.map(\.example.body)
        let reader = HookReader(
            settings: HookSettings(
                secret: Self.secret, names: try NamePatterns([], allowsArguments: true),
                urlTemplate: try HookURLTemplate("rtmp://127.0.0.1/{app}/{name}")),
            parser: EventParser(allowList: .loopbackOnly))
        var taken = 0
        for _ in 0..<3000 {
            let body = HostileBytes.any(valid, using: &random)
            for hook in EventHooks.all {
                var request = hook.example
                request.body = body
                _ = hook.isAuthentic(request, secret: Self.secret)
                guard let outcome = try? hook.outcome(of: request, reader: reader) else { continue }
                taken += outcome.events.count
                #expect(outcome.call.utf8.count < 64 && outcome.events.count <= 500)
                for event in outcome.events {
                    #expect(event.room.name.utf8.count <= 128 && (event.id?.utf8.count ?? 0) < 1024)
                }
            }
        }
        #expect(taken > 100)
    }

    /// Publishers may go on after a success, and after no other outcome.
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
