import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// Publishers of the service's own RTMP server: no app server, no events, and no media server but the destination.
@Suite(.serialized) struct IngestTests {
    private static func environment(_ port: Int) -> [String: String] {
        ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)", "MIXORCHESTRATOR_INGEST_GRACE": "6"]
    }

    private static func publish(_ user: String, _ id: Int, _ port: Int, _ stage: Stage) throws -> ManagedProcess {
        try ManagedProcess(
            "publisher-\(user)-\(UInt16.random(in: 0...9999))", "ffmpeg",
            SyntheticPublisher(id: id, gopSeconds: 1).arguments(
                url: "rtmp://127.0.0.1:\(port)/live/\(stage.room)__\(user)"), in: stage.directory)
    }

    private static func users(_ stage: Stage) async throws -> Set<String> {
        struct Room: Decodable {
            struct Person: Decodable { var user: String }
            var participants: [Person]
        }
        let answer = try await stage.client.request("GET", "/v1/rooms/\(stage.room)")
        guard answer.status == 200 else { return [] }
        return Set(try JSONDecoder().decode(Room.self, from: answer.body).participants.map(\.user))
    }

    /// The process of the ingest; it outlives the service.
    private static func ingest(_ stage: Stage) -> Int32? {
        let data = stage.directory.appendingPathComponent("data/ingest").path
        return ProcessTable.entries().first { entry in
            entry.arguments.contains("ingest") && entry.arguments.contains { $0.hasPrefix(data) }
        }?.identifier
    }

    @Test(.timeLimit(.minutes(4))) func publishingIsAllThatIsNeeded() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: Self.environment(port)) { stage in
            let client = stage.client
            let settings =
                #"{"outputs": [{"id": "cdn", "url": "\#(stage.media.cdn(stage.room))"}], "layout": "side-by-side"}"#
            #expect(try await client.request("PUT", "/v1/rooms/\(stage.room)", json: settings).status < 300)
            try await waitUntil("the ingest runs", within: 10) { Self.ingest(stage) != nil }
            let ingest = try #require(Self.ingest(stage))
            let alice = try Self.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass", within: 20)
            var bob = try Self.publish("bob", 2, port, stage)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"], within: 20)
            let player = try await stage.record("http://127.0.0.1:\(client.port)/live/\(stage.room).flv", as: "flv")
            let viewer = try await stage.watch()

            // Killed without a word, and back within the grace: the same pane, and no destination notices.
            bob.kill9()
            try await waitUntil("bob's process is gone", within: 5) { !bob.isRunning }
            try await Task.sleep(for: .seconds(2))
            #expect(try await Self.users(stage) == ["alice", "bob"], "the place is kept")
            bob = try Self.publish("bob", 2, port, stage)
            let before = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await waitUntil("bob is live again", within: 15) {
                try await client.streamErrors(stage.room).isEmpty
            }
            try await Task.sleep(for: .seconds(3))
            #expect(before.outputs.map(\.reconnects) == [0])

            // The service is killed: publishers stay connected, and the next one finds their streams.
            try await stage.killService()
            try await Task.sleep(for: .seconds(2))
            #expect(alice.isRunning && bob.isRunning)
            try await stage.startServiceAgain()
            #expect(Self.ingest(stage) == ingest, "the ingest was started again")
            let after = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(after.outputs.map(\.reconnects) == [0])
            #expect(alice.isRunning && bob.isRunning)

            // A clean end is one at once.
            await bob.stop(within: 5)
            try await waitUntil("bob has left", within: 4) { try await Self.users(stage) == ["alice"] }
            let last = try await stage.waitForOnAir("bypass", within: 15)
            #expect(last.outputs.map(\.reconnects) == [0])
            #expect(player.progress.tags > 100)
            viewer.stop()
            let seen = await viewer.recording()
            #expect(seen.connections == 1, "the viewer was connected \(seen.connections) times")

            // One that ends while no service is there is found to be gone.
            try await stage.killService()
            await alice.stop(within: 5)
            try await stage.startServiceAgain()
            try await waitUntil("alice has left", within: 20) { try await Self.users(stage).isEmpty }
            let timeline = try await client.request("GET", "/v1/tasks/auto-\(stage.room)/timeline").text
            #expect(timeline.contains("stream.unpublished bob/camera"), "\(timeline)")
            #expect(!stage.service.messages(last: .max).contains("relay="), "the log shows a code")
        }
    }

    @Test(.timeLimit(.minutes(2))) func onlyWhoMayPublishes() async throws {
        let port = HookingMediaServer.anyPort()
        var environment = Self.environment(port)
        environment["MIXORCHESTRATOR_INGEST_KEY"] = "ingest-key-0123456789"
        try await Stage.run(environment: environment) { stage in
            try await waitUntil("the ingest runs", within: 10) { Self.ingest(stage) != nil }
            let refused = try Self.publish("alice", 1, port, stage)
            try await waitUntil("alice is refused", within: 20) { !refused.isRunning }
            #expect(refused.exitStatus != 0)
            #expect(try await Self.users(stage).isEmpty)
            let url = "rtmp://127.0.0.1:\(port)/live/\(stage.room)__alice"
            let signer = try ManagedProcess(
                "sign-url", Workspace.executable("mixorchestrator"), ["sign-url", url], in: stage.directory,
                environment: ["MIXORCHESTRATOR_INGEST_KEY": "ingest-key-0123456789"])
            try await waitUntil("signed", within: 10) { !signer.isRunning }
            let signed = signer.messages().split(separator: "\n").first { $0.hasPrefix("rtmp://") }
            let alice = try ManagedProcess(
                "publisher-signed", "ffmpeg",
                SyntheticPublisher(id: 1, gopSeconds: 1).arguments(url: String(try #require(signed))),
                in: stage.directory)
            try await waitUntil("alice is there", within: 20) { try await Self.users(stage) == ["alice"] }
            await alice.stop(within: 5)
            #expect(!stage.service.messages(last: .max).contains("auth_key="))
        }
    }
}
