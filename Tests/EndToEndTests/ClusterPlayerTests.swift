import EncodedMedia
import StoreSupport
import Testing

@testable import ViewerProbe

/// Viewers at the ingests of several nodes, with real processes.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterPlayerTests {
    /// A player at a node that never has the room receives the program from the room's node. It continues over one
    /// connection from the next node, even after the first one is gone.
    @Test(.timeLimit(.minutes(6))) func aPlayerOverRTMPStaysAtItsNode() async throws {
        try await ClusterStage.run(lease: 10, hasIngests: true) { stage in
            let (a, b) = (stage.a, stage.b)
            let c = try await stage.start("c")
            try await a.client.putRoom(
                "demo", host: "alice", output: stage.media.cdn("demo"), layout: "side-by-side", canvas: .portrait)
            // The node accepts no rooms from now on, but still serves its publishers and players.
            #expect(try await b.client.request("POST", "/v1/node/drain").status == 200)
            _ = try stage.publish("demo__alice", at: b)
            try await stage.waitForOnAir("bypass", at: a)
            let port = try #require(b.ingest)
            let player = try await stage.record("rtmp://127.0.0.1:\(port)/program/demo", as: "player")
            try await waitUntil("the player sees the program") { player.progress.tags > 60 }
            #expect(!a.relays.isEmpty && b.relays.isEmpty)

            let answer = try await a.client.request("POST", "/v1/node/drain", within: .seconds(60))
            #expect(answer.text.contains(#""moved":1"#), "\(answer.text)")
            try await stage.waitForOnAir("bypass", at: c)
            a.destroy()
            let before = player.progress.tags
            try await waitUntil("the player sees more") { player.progress.tags > before + 120 }
            #expect(!c.relays.isEmpty && b.relays.isEmpty)
            player.stop()

            let seen = await player.recording()
            #expect(seen.connections == 1, "\(String(describing: seen.lastError))")
            let trace = try seen.trace()
            for track in [trace.video, trace.audio] {
                let times = track.map(\.frame.dts)
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "timestamps go on")
            }
            let arrivals = trace.video.compactMap(\.arrival)
            let freeze = zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }.max() ?? 0
            print("a player at another node: longest freeze \(freeze / 1_000_000) ms")
        }
    }
}
