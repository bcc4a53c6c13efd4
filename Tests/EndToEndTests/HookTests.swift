import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// A real nginx-rtmp whose callbacks bring real publishers into a room, without an app server.
@Suite(.serialized) struct HookTests {
    private static let secret = "hook-secret-0123456789"

    private static func environment(_ port: Int, stat: Int? = nil) -> [String: String] {
        let poll = stat.map { port in
            [
                "MIXORCHESTRATOR_HOOKS_NGINX_RTMP_POLL": "http://127.0.0.1:\(port)/stat",
                "MIXORCHESTRATOR_HOOKS_NGINX_RTMP_POLL_SECONDS": "1",
            ]
        }
        return [
            "MIXORCHESTRATOR_HOOKS_NGINX_RTMP_SECRET": secret,
            "MIXORCHESTRATOR_HOOKS_NGINX_RTMP_URL": "rtmp://127.0.0.1:\(port)/{app}/{name}",
            "MIXORCHESTRATOR_LOG_LEVEL": "debug",
        ].merging(poll ?? [:]) { $1 }
    }

    /// Returns the block of the documentation, with this test's port and secret.
    private static func application(_ stage: Stage, secret: String = secret) throws -> String {
        try HookingMediaServer.snippet("nginx", of: "README.md")
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(stage.client.port)").replacing("SECRET", with: secret)
    }

    private static func publish(_ name: String, _ id: Int, _ server: HookingMediaServer, _ stage: Stage) throws
        -> ManagedProcess
    {
        try ManagedProcess(
            "publisher-\(name)-\(UInt16.random(in: 0...9999))", "ffmpeg",
            SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 1).arguments(url: server.live(name)),
            in: stage.directory)
    }

    @Test(.timeLimit(.minutes(20))) func publishersOfNginxGoOnAir() async throws {
        #expect(
            try HookingMediaServer.snippet("nginx", of: "README.md")
                == HookingMediaServer.snippet("nginx", of: "docs/integrations/nginx-rtmp.md"))
        let (port, stat) = (HookingMediaServer.anyPort(), HookingMediaServer.anyPort())
        try await Stage.run(environment: Self.environment(port, stat: stat)) { stage in
            try await stage.client.putRoom(
                "lobby", host: "alice", output: stage.media.cdn("lobby"), layout: "side-by-side", canvas: .portrait)
            var server = try await HookingMediaServer.start(
                in: stage.directory, port: port, application: try Self.application(stage), name: "hooking", stat: stat)
            do {
                // With a second participant the room is mixed; without one the program is a copy.
                let alice = try Self.publish("lobby__alice", 1, server, stage)
                try await stage.waitForOnAir("bypass", task: "auto-lobby")
                let viewer = try await stage.record(stage.media.cdn("lobby"), as: "viewer")
                let bob = try Self.publish("lobby__bob", 2, server, stage)
                try await stage.waitForOnAir("mix", users: ["alice", "bob"], task: "auto-lobby")
                await bob.stop()
                try await stage.waitForOnAir("bypass", task: "auto-lobby")
                #expect(try await stage.client.users("lobby") == ["alice"])
                try await waitUntil("the viewer has three seconds: \(viewer.progress)") {
                    viewer.progress.timestamp > 3000 && viewer.progress.videoTags > 60
                }
                viewer.stop()
                let trace = try await viewer.recording().trace()
                #expect(trace.video.count > 20, "the viewer has a program")

                // The name is already published: nginx rejects the second publisher, and the first one stays.
                let twin = try Self.publish("lobby__alice", 3, server, stage)
                try await waitUntil("the twin is turned away\n\(twin.messages())") { !twin.isRunning }
                #expect(alice.isRunning, "\(alice.messages())")
                #expect(try await stage.client.users("lobby") == ["alice"])
                try await stage.waitForOnAir("bypass", task: "auto-lobby")

                // A name without a room is published as before, but is in no room.
                let other = try Self.publish("elsewhere", 4, server, stage)
                try await Task.sleep(for: .seconds(3))
                #expect(other.isRunning, "\(other.messages())")
                #expect(try await stage.client.users("lobby") == ["alice"])
                await other.stop()

                // nginx is killed and started again, so that its connections are counted from 1.
                try await server.kill()
                await alice.stop()
                server = try await HookingMediaServer.start(
                    in: stage.directory, port: port, application: try Self.application(stage), name: "hooking-again",
                    stat: stat)
                let again = try Self.publish("lobby__alice", 1, server, stage)
                try await stage.waitForOnAir("bypass", task: "auto-lobby")
                // By then the statistics have listed the publisher once.
                try await Task.sleep(for: .seconds(3))
                await again.stop()
                try await waitUntil("alice has left") { try await stage.client.users("lobby").isEmpty }

                // An app server may remove a publisher whom the statistics list.
                let stayer = try Self.publish("lobby__alice", 1, server, stage)
                try await waitUntil("alice is back") { try await stage.client.users("lobby") == ["alice"] }
                try await stage.client.unpublished("lobby", user: "alice")
                try await Task.sleep(for: .seconds(3))
                #expect(try await stage.client.users("lobby").isEmpty, "who was taken off by the app server stays off")
                await stayer.stop()
            } catch {
                print("--- nginx\n\(server.log.split(separator: "\n").suffix(60).joined(separator: "\n"))")
                await server.stop()
                throw error
            }
            #expect(!stage.service.messages(last: .max).contains(Self.secret), "the log shows the secret")
            await server.stop()
            try await stage.client.deleteRoom("lobby")
        }
    }

    /// nginx does not repeat callbacks. While the service is down, its publishers stay, and its statistics later show
    /// the changes.
    @Test(.timeLimit(.minutes(15))) func whatHappensWhileTheServiceIsDownBecomesKnown() async throws {
        let (port, stat) = (HookingMediaServer.anyPort(), HookingMediaServer.anyPort())
        try await Stage.run(environment: Self.environment(port, stat: stat)) { stage in
            let server = try await HookingMediaServer.start(
                in: stage.directory, port: port,
                application: try Self.application(stage) + "application open { live on; }", name: "hooking", stat: stat)
            do {
                let alice = try Self.publish("lobby__alice", 1, server, stage)
                let bob = try Self.publish("lobby__bob", 2, server, stage)
                try await waitUntil("both are there") {
                    try await stage.client.users("lobby") == ["alice", "bob"]
                }
                try await stage.killService()
                // The callback of this end is lost.
                await bob.stop()
                // The attempt is not reported at all, because nginx rejects a publisher whose first callback is not
                // answered.
                let carol = try ManagedProcess(
                    "publisher-carol", "ffmpeg",
                    SyntheticPublisher(id: 3, width: 360, height: 640, gopSeconds: 1).arguments(
                        url: "rtmp://127.0.0.1:\(port)/open/lobby__carol"), in: stage.directory)
                let refused = try Self.publish("lobby__dave", 4, server, stage)
                try await waitUntil("dave is turned away\n\(refused.messages())") { !refused.isRunning }
                let statistics = ServiceClient(port: stat)
                try await waitUntil("carol publishes") {
                    try await statistics.request("GET", "/stat").text.contains("<name>lobby__carol</name>")
                }
                #expect(alice.isRunning, "publishers outlive the service: \(alice.messages())")
                try await stage.startServiceAgain()
                try await waitUntil("the room is right") {
                    try await stage.client.users("lobby") == ["alice", "carol"]
                }
                var corrections: [Substring] = []
                func isOneCorrectionEach() async throws -> Bool {
                    let metrics = try await stage.client.request("GET", "/metrics").text
                    corrections = metrics.split(separator: "\n").filter { $0.contains("hook_corrections_total{") }
                    return ["began", "ended"].allSatisfy { change in
                        corrections.contains { $0.hasSuffix(#"{hook="nginx-rtmp",change="\#(change)"} 1"#) }
                    }
                }
                // The corrections are counted after the room has changed.
                try await waitUntil("one correction each is counted: \(corrections)") {
                    try await isOneCorrectionEach()
                }
                // Later callbacks of nginx count as usual, and polling finds the changes that it does not report.
                await alice.stop()
                try await waitUntil("alice has left") { try await stage.client.users("lobby") == ["carol"] }
                #expect(try await isOneCorrectionEach(), "\(corrections)")
                await carol.stop()
                try await waitUntil("carol has left") { try await stage.client.users("lobby").isEmpty }
            } catch {
                print("--- nginx\n\(server.log.split(separator: "\n").suffix(60).joined(separator: "\n"))")
                await server.stop()
                throw error
            }
            await server.stop()
        }
    }

    @Test(
        .timeLimit(.minutes(12)),
        arguments: [
            (secret, "post"), ("wrong-secret-0123456789", "post"), (secret, "get"), ("wrong-secret-0123456789", "get"),
        ])
    func aPublisherIsDroppedIfTheSecretIsWrong(_ secret: String, _ method: String) async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: Self.environment(port)) { stage in
            var application = try Self.application(stage, secret: secret)
            if method == "get" {
                application = application.replacing("?token=", with: "/")
                    .replacing("live on;", with: "live on; notify_method get;")
            }
            let server = try await HookingMediaServer.start(
                in: stage.directory, port: port, application: application, name: "hooking")
            let publisher = try Self.publish("lobby__alice", 1, server, stage)
            if secret == Self.secret {
                try await waitUntil("alice is there") { try await stage.client.users("lobby") == ["alice"] }
                #expect(publisher.isRunning)
            } else {
                try await waitUntil("the publisher is dropped\n\(server.log)") { !publisher.isRunning }
                #expect(publisher.exitStatus != 0)
                #expect(try await stage.client.request("GET", "/v1/rooms/lobby").status == 404)
                let metrics = try await stage.client.request("GET", "/metrics").text
                #expect(metrics.contains(#"hook_calls_total{hook="nginx-rtmp",result="unauthorized"}"#))
            }
            await publisher.stop()
            await server.stop()
        }
    }
}
