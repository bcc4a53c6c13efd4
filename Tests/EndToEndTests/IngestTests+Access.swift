import Foundation
import Testing

@testable import ViewerProbe

/// Permission to publish.
extension IngestTests {
    /// The example of the documentation, which identifies participants by secret stream keys.
    @Test(.timeLimit(.minutes(12))) func theOperatorsServerDecides() async throws {
        let (port, hookPort) = (HookingMediaServer.anyPort(), HookingMediaServer.anyPort())
        var environment = Self.environment(port)
        environment["MIXORCHESTRATOR_INGEST_ON_PUBLISH_URL"] = "http://127.0.0.1:\(hookPort)/publish"
        try await Stage.run(environment: environment) { stage in
            let script = stage.directory.appendingPathComponent("hook.py")
            try HookingMediaServer.snippet("python", of: "docs/ingest.md").replacing("9000", with: "\(hookPort)")
                .write(to: script, atomically: true, encoding: .utf8)
            try await Self.waitForIngest(stage, port)
            func publish(_ key: String) throws -> ManagedProcess {
                try ManagedProcess(
                    "publisher-\(UInt16.random(in: 0...9999))", "ffmpeg",
                    Self.source(1).arguments(url: "rtmp://127.0.0.1:\(port)/live/\(key)"),
                    in: stage.directory)
            }
            // Publishers are not accepted while the hook does not answer.
            let early = try publish("k3y-of-alice")
            try await waitUntil("silence refuses") { !early.isRunning }
            #expect(early.messages().contains("cannot be asked at the moment"), "\(early.messages())")
            let hook = try ManagedProcess("hook", "python3", [script.path], in: stage.directory)
            try await waitUntil("the hook listens") {
                (try? await ServiceClient(port: hookPort).request("GET", "/").status) != nil
            }
            let alice = try publish("k3y-of-alice")
            let client = stage.client
            try await waitUntil("alice is in the lobby") {
                try await client.request("GET", "/v1/rooms/lobby").text.contains(#""user":"alice""#)
            }
            let stranger = try publish("k3y-of-nobody")
            try await waitUntil("the stranger is refused") { !stranger.isRunning }
            #expect(stranger.messages().contains("this stream key is not known"), "\(stranger.messages())")
            #expect(alice.isRunning && !stage.service.messages(last: .max).contains("k3y-of"))
            await alice.stop()
            await hook.stop()
        }
    }

    @Test(.timeLimit(.minutes(12))) func onlyWhoMayPublishes() async throws {
        let port = HookingMediaServer.anyPort()
        var environment = Self.environment(port)
        environment["MIXORCHESTRATOR_INGEST_KEY"] = "ingest-key-0123456789"
        try await Stage.run(environment: environment) { stage in
            try await Self.waitForIngest(stage, port)
            let refused = try Self.publish("alice", 1, port, stage)
            try await waitUntil("alice is refused") { !refused.isRunning }
            #expect(refused.exitStatus != 0)
            #expect(try await stage.client.users(stage.room).isEmpty)
            let url = "rtmp://127.0.0.1:\(port)/live/\(stage.room)__alice"
            let signer = try ManagedProcess(
                "sign-url", Workspace.executable("mixorchestrator"), ["sign-url", url], in: stage.directory,
                environment: ["MIXORCHESTRATOR_INGEST_KEY": "ingest-key-0123456789"])
            try await waitUntil("signed") { !signer.isRunning }
            let signed = signer.messages().split(separator: "\n").first { $0.hasPrefix("rtmp://") }
            let alice = try ManagedProcess(
                "publisher-signed", "ffmpeg",
                Self.source(1).arguments(url: String(try #require(signed))),
                in: stage.directory)
            try await waitUntil("alice is there") { try await stage.client.users(stage.room) == ["alice"] }
            // The room now has a program, whose timeline reports on its publishers.
            let second = try Self.publish("bob", 2, port, stage)
            try await waitUntil("bob is refused") { !second.isRunning }
            alice.kill9()
            try await waitUntil("the timeline has both") {
                let text = try await stage.client.request("GET", "/v1/tasks/auto-\(stage.room)/timeline").text
                return text.contains("publisher refused: bob/camera: the stream key has no auth_key")
                    && text.contains("publisher lost: alice/camera")
            }
            #expect(!stage.service.messages(last: .max).contains("auth_key="))
        }
    }

    /// An app at its limit refuses its next publisher, and no one else.
    @Test(.timeLimit(.minutes(12))) func anAppsPublishersAreLimited() async throws {
        let port = HookingMediaServer.anyPort()
        var environment = Self.environment(port)
        environment["MIXORCHESTRATOR_INGEST_PATTERNS"] = "{app}/{room}__{user}"
        environment["MIXORCHESTRATOR_APPS_0_ID"] = "shop"
        environment["MIXORCHESTRATOR_APPS_0_QUOTAS_PUBLISHERS"] = "1"
        environment["MIXORCHESTRATOR_APPS_1_ID"] = "zoo"
        try await Stage.run(environment: environment) { stage in
            try await Self.waitForIngest(stage, port)
            func publish(_ user: String, of app: String) throws -> ManagedProcess {
                try ManagedProcess(
                    "publisher-\(app)-\(user)-\(UInt16.random(in: 0...9999))", "ffmpeg",
                    Self.source(1).arguments(url: "rtmp://127.0.0.1:\(port)/\(app)/lobby__\(user)"),
                    in: stage.directory)
            }
            func isIn(_ app: String, _ user: String) async throws -> Bool {
                try await stage.client.request("GET", "/v1/rooms/lobby?app=\(app)").text
                    .contains(#""user":"\#(user)""#)
            }
            let alice = try publish("alice", of: "shop")
            try await waitUntil("alice is in the shop") { try await isIn("shop", "alice") }
            let bob = try publish("bob", of: "shop")
            try await waitUntil("bob is refused") { !bob.isRunning }
            #expect(bob.messages().contains("the app shop may have 1 publishers"), "\(bob.messages())")
            let other = try publish("bob", of: "zoo")
            try await waitUntil("bob is in the zoo") { try await isIn("zoo", "bob") }
            // A second publisher takes over the stream, and with it the place.
            let second = try publish("alice", of: "shop")
            try await waitUntil("the first one is replaced") { !alice.isRunning }
            #expect(second.isRunning && other.isRunning, "\(second.messages())")
            #expect(try await isIn("shop", "alice"))
            for process in [second, other] { await process.stop() }
        }
    }
}
