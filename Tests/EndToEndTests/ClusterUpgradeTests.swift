import StoreSupport
import TestSupport
import Testing

/// A node of a cluster is upgraded on its machine: its next service takes over the relays, and no other node the room.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterUpgradeTests {
    @Test(.timeLimit(.minutes(15))) func anUpgradeCostsNoReconnectAndNoPicture() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        try await ClusterStage.run(lease: 120, settings: ["RELAY_KEEP": "true"]) { stage in
            try await stage.a.client.putRoom(
                "demo", host: "alice", output: receiver.url("demo"), layout: "side-by-side", canvas: .portrait)
            try await stage.a.client.published("demo", user: "alice", url: stage.source, role: "host")
            func arrived() -> Int { receiver.senders(of: "demo").reduce(0) { $0 + $1.frames.count } }
            try await waitUntil("the program is on air") { arrived() > 100 }
            let relays = Set(stage.a.relays)
            #expect(!relays.isEmpty)
            var node = stage.a
            for round in 0..<TestLength.of(short: 2, long: 10) {
                // Every other time the service is killed instead.
                node = try await round.isMultiple(of: 2) ? stage.upgrade(node) : stage.restart(node)
                try await stage.waitForOnAir("bypass", at: node)
                // The other node finds the room at the address of the new service.
                try await stage.waitForOnAir("bypass", at: stage.b)
                #expect(Set(node.relays) == relays, "round \(round): the relay was started again")
                let before = arrived()
                try await waitUntil("the program goes on") { arrived() > before + 60 }
            }
            #expect(stage.b.relays.isEmpty, "the room has moved")
            let senders = receiver.senders(of: "demo")
            #expect(senders.count == 1, "the destination was reconnected")
            let times = senders.flatMap { $0.frames.filter(\.isVideo).map { Int($0.timestamp) } }
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            // The publisher makes 20 pictures a second.
            let odd = steps.filter { !(40...60 ~= $0) }
            #expect(odd.isEmpty, "pictures were lost: \(odd)")
        }
    }
}
