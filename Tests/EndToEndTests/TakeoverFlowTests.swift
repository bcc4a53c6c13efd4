import Foundation
import Testing

@testable import ViewerProbe

/// Publishers that reconnect by themselves and have one stream key. Alone, because a publisher that gets no processor time for a
/// second is silent.
@Suite(.serialized) struct TakeoverFlowTests {
    private static let replaced = "another publisher has taken over this stream key"

    /// The publisher that was replaced comes back and is refused, so that viewers do not see both in turn. A holder whose
    /// connection is half-open is replaced at once.
    @Test(.timeLimit(.minutes(12))) func aStreamThatWasTakenOverIsHeld() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: IngestTests.environment(port)) { stage in
            try await IngestTests.prepare(stage, port)
            let first = try IngestTests.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass")
            let second = try IngestTests.publish("alice", 2, port, stage)
            try await waitUntil("the first one is replaced") { !first.isRunning }
            let begin = ContinuousClock.now
            #expect(first.messages().contains(Self.replaced), "\(first.messages())")

            let third = try IngestTests.publish("alice", 1, port, stage)
            try await waitUntil("the first one is refused when it comes back\n\(third.messages())") {
                !third.isRunning
            }
            let time = ContinuousClock.now - begin
            let words = third.messages()
            #expect(words.contains("this stream key was taken over ") && words.contains("try again in "), "\(words)")
            #expect(second.isRunning && time < .seconds(30), "\(time): \(second.messages())")
            try await waitUntil("the timeline says so") {
                try await stage.client.timeline(stage.room).contains {
                    $0.contains("publisher refused: alice/camera: this stream key was taken over ")
                }
            }

            // The holder stands still, as if its network was gone, and its connection stays.
            let takeovers = { stage.service.messages(last: .max).ranges(of: Self.replaced).count }
            let before = takeovers()
            try #require(kill(second.identifier, SIGSTOP) == 0)
            let fourth = try IngestTests.publish("alice", 1, port, stage)
            try await waitUntil("the holder that is silent is replaced\n\(fourth.messages())") {
                takeovers() > before
            }
            kill(second.identifier, SIGCONT)
            try await waitUntil("the holder is told") { !second.isRunning }
            #expect(fourth.isRunning, "\(fourth.messages())")
            try await waitUntil("the fourth one is on air") {
                let onAir = try await stage.client.task(stage.room)?.state.onAir
                return try await stage.client.streamErrors(stage.room).isEmpty && onAir == "bypass"
            }
            #expect(try await stage.client.users(stage.room) == ["alice"])
            await fourth.stop()
        }
    }
}
