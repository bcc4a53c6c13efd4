import Foundation
import Testing

@testable import ViewerProbe

private let program = ProcessInfo.processInfo.environment["MIX_SRS"]

/// `docs/integrations/srs.md` with a real SRS, whose callbacks bring real publishers into a room.
///
/// Debian has no package of SRS; the page describes how to build it. `MIX_SRS` names the program.
@Suite(.serialized, .enabled(if: program != nil, "MIX_SRS does not name SRS")) struct SRSTests {
    private static let secret = "hook-secret-0123456789"

    /// A private SRS with the configuration from the page.
    private struct Server {
        let port = HookingMediaServer.anyPort()
        let api = HookingMediaServer.anyPort()
        var process: ManagedProcess?

        mutating func start(_ stage: Stage, _ name: String) async throws {
            let directory = stage.directory.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: directory.appendingPathComponent("objs/nginx/html"), withIntermediateDirectories: true)
            let own = """
                daemon off; srs_log_tank console; pid \(directory.path)/srs.pid; max_connections 100;

                """
            let page = try HookingMediaServer.snippet("nginx", of: "docs/integrations/srs.md")
                .replacing("listen 1935;", with: "listen 127.0.0.1:\(port);")
                .replacing("127.0.0.1:1985", with: "127.0.0.1:\(api)")
                .replacing("127.0.0.1:8080", with: "127.0.0.1:\(stage.client.port)")
                .replacing("SECRET", with: secret)
            let file = directory.appendingPathComponent("srs.conf")
            try (own + page).write(to: file, atomically: true, encoding: .utf8)
            let process = try ManagedProcess(
                name, "/bin/sh", ["-c", "cd '\(directory.path)' && exec '\(program ?? "")' -c '\(file.path)'"],
                in: stage.directory)
            self.process = process
            let client = ServiceClient(port: api)
            try await waitUntil("SRS answers") {
                guard process.isRunning else { throw EndToEndError("SRS ended: \(process.messages())") }
                return (try? await client.request("GET", "/api/v1/versions").status) == 200
            }
        }

        func publish(_ name: String, _ id: Int, _ stage: Stage) throws -> ManagedProcess {
            try ManagedProcess(
                "publisher-\(name)-\(UInt16.random(in: 0...9999))", "ffmpeg",
                SyntheticPublisher(id: id, gopSeconds: 1).arguments(url: "rtmp://127.0.0.1:\(port)/live/\(name)"),
                in: stage.directory)
        }

        var log: String { process?.messages(last: 80) ?? "" }
    }

    private static func environment(_ server: Server) -> [String: String] {
        [
            "MIXORCHESTRATOR_HOOKS_SRS_SECRET": secret,
            "MIXORCHESTRATOR_HOOKS_SRS_URL": "rtmp://127.0.0.1:\(server.port)/{app}/{name}",
            "MIXORCHESTRATOR_HOOKS_SRS_POLL": "http://127.0.0.1:\(server.api)/api/v1/streams",
            "MIXORCHESTRATOR_HOOKS_SRS_POLL_SECONDS": "1",
        ]
    }

    @Test(.timeLimit(.minutes(8))) func publishersOfSRSGoOnAir() async throws {
        var server = Server()
        try await Stage.run(environment: Self.environment(server)) { stage in
            try await stage.client.putRoom(
                "lobby", host: "alice", output: stage.media.cdn("lobby"), layout: "side-by-side", canvas: .portrait)
            try await server.start(stage, "srs")
            do {
                let alice = try server.publish("lobby__alice", 1, stage)
                try await stage.waitForOnAir("bypass", task: "auto-lobby")
                let viewer = try await stage.record(stage.media.cdn("lobby"), as: "viewer")
                let bob = try server.publish("lobby__bob", 2, stage)
                try await stage.waitForOnAir("mix", users: ["alice", "bob"], task: "auto-lobby")
                await bob.stop()
                try await stage.waitForOnAir("bypass", task: "auto-lobby")
                #expect(try await stage.client.users("lobby") == ["alice"])
                let mark = viewer.progress.timestamp
                try await waitUntil("alice is seen alone") { viewer.progress.timestamp > mark + 1000 }
                viewer.stop()
                let times = try await viewer.recording().trace().video.map(\.frame.dts.roundedMilliseconds)
                let steps = zip(times, times.dropFirst()).map { $1 - $0 }
                print("\(times.count) pictures, \(steps.min() ?? 0) to \(steps.max() ?? 0) ms apart")
                #expect(times.count > 40 && steps.allSatisfy { 1...100 ~= $0 })

                // SRS asks before it rejects a second publisher of a name.
                let second = try server.publish("lobby__alice", 3, stage)
                try await waitUntil("the second one is turned away\n\(server.log)") { !second.isRunning }
                #expect(alice.isRunning)
                try await waitUntil("the first one is in the room") {
                    try await stage.client.users("lobby") == ["alice"]
                }
                try await stage.waitForOnAir("bypass", task: "auto-lobby")

                // While the service is down, no publisher is accepted, and polling finds those who leave.
                try await stage.killService()
                let refused = try server.publish("lobby__dave", 4, stage)
                try await waitUntil("dave is turned away") { !refused.isRunning }
                await alice.stop()
                try await stage.startServiceAgain()
                try await waitUntil("alice has left") { try await stage.client.users("lobby").isEmpty }

                // SRS is killed and started again.
                let carol = try server.publish("lobby__carol", 5, stage)
                try await waitUntil("carol is there") { try await stage.client.users("lobby") == ["carol"] }
                server.process?.kill9()
                try await waitUntil("carol's connection is gone") { !carol.isRunning }
                try await server.start(stage, "srs-again")
                try await waitUntil("carol has left") { try await stage.client.users("lobby").isEmpty }
            } catch {
                print("--- SRS\n\(server.log)")
                await server.process?.stop()
                throw error
            }
            await server.process?.stop()
            #expect(!stage.service.messages(last: .max).contains(Self.secret), "the log shows the secret")
        }
    }

    @Test(.timeLimit(.minutes(5))) func aPublisherIsDroppedIfTheSecretIsWrong() async throws {
        var server = Server()
        var environment = Self.environment(server)
        environment["MIXORCHESTRATOR_HOOKS_SRS_SECRET"] = "another-secret-0123456789"
        try await Stage.run(environment: environment) { stage in
            try await server.start(stage, "srs")
            let publisher = try server.publish("lobby__alice", 1, stage)
            try await waitUntil("the publisher is dropped\n\(server.log)") { !publisher.isRunning }
            #expect(try await stage.client.users("lobby").isEmpty)
            let metrics = try await stage.client.request("GET", "/metrics").text
            #expect(metrics.contains(#"hook_calls_total{hook="srs",result="unauthorized"}"#))
            await server.process?.stop()
        }
    }
}
