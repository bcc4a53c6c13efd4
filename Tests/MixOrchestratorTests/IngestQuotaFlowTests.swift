import Foundation
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Apps that share an ingest, with a limited number of publishers each.
@Suite(.timeLimit(.minutes(3))) struct IngestQuotaFlowTests {
    private static func settings(publishers: Int) -> [String: [String]] {
        [
            "ingest.rtmp.listen": ["127.0.0.1:1935"], "ingest.patterns": ["{app}/{room}__{user}"],
            "apps.0.id": ["shop"], "apps.0.quotas.publishers": ["\(publishers)"], "apps.1.id": ["zoo"],
        ]
    }

    private func isAllowed(_ verdict: ScriptedIngest.Verdict) -> Bool {
        if case .allowed = verdict { true } else { false }
    }

    @Test func anAppsPublishersAreLimited() async throws {
        try await withCluster(settings: Self.settings(publishers: 2)) { start in
            let node = try await start("a", nil)
            let ingest = try #require(node.ingest)
            let alice = try await ingest.publish("lobby__alice", to: "shop")
            #expect(isAllowed(alice), "\(alice)")
            let bob = try await ingest.publish("lobby__bob", to: "shop")
            guard case .allowed(let session, let stream) = bob else {
                Issue.record("\(bob)")
                return
            }
            let refusal = try await ingest.publish("lobby__carol", to: "shop")
            guard case .refused(let words) = refusal else {
                Issue.record("\(refusal)")
                return
            }
            #expect(words.contains("the app shop may have 2 publishers"), "\(words)")
            #expect(words.contains("quotas.publishers"), "\(words)")
            try await eventually {
                try await node.call("GET", "/v1/tasks/auto-lobby/timeline?app=shop").text
                    .contains("publisher refused: carol/camera: \(words.prefix(80))") ? true : nil
            }
            try await eventually { node.log.text.contains("publisher refused: \(words)") ? true : nil }

            // Neither another app nor a publisher that takes over or returns is affected.
            let other = try await ingest.publish("cages__alice", to: "zoo")
            #expect(isAllowed(other), "\(other)")
            let second = try await ingest.publish("lobby__alice", to: "shop")
            #expect(isAllowed(second), "\(second)")
            ingest.report(.interrupted(stream: stream, session: session, reason: "its cable was cut"))
            let waiting = try await ingest.publish("lobby__carol", to: "shop")
            #expect(!isAllowed(waiting), "bob's place is kept")
            let back = try await ingest.publish("lobby__bob", to: "shop")
            guard case .allowed(let next, _) = back else {
                Issue.record("\(back)")
                return
            }

            ingest.report(.ended(stream: stream, session: next, reason: "left"))
            try await eventually {
                let verdict = try await ingest.publish("lobby__carol", to: "shop")
                return isAllowed(verdict) ? true : nil
            }
        }
    }

    /// Events of different rooms are stored at the same time.
    @Test func twoRoomsDoNotTakeTheLastPlaceTogether() async throws {
        try await withCluster(settings: Self.settings(publishers: 3)) { start in
            let node = try await start("a", nil)
            let ingest = try #require(node.ingest)
            var verdicts: [ScriptedIngest.Verdict] = []
            try await withThrowingTaskGroup(of: ScriptedIngest.Verdict.self) { group in
                for number in 0..<12 {
                    group.addTask { try await ingest.publish("r\(number)__alice", to: "shop") }
                }
                for try await verdict in group { verdicts.append(verdict) }
            }
            let allowed = verdicts.filter(isAllowed)
            #expect(verdicts.count == 12 && allowed.count == 3, "\(verdicts)")
        }
    }
}
