import Foundation
import Testing

@testable import ViewerProbe

/// The program on air does not depend on the process that starts mixers.
@Suite(.serialized) struct ForkServerLossTests {
    @Test(.timeLimit(.minutes(12))) func participantsJoinWithoutIt() async throws {
        try await Stage.run { stage in
            for (id, name) in [(1, "alice"), (2, "bob")] {
                try await stage.publish(
                    name, SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 0.5, videoBitrate: 600_000))
            }
            try await stage.open(host: "alice")
            try await waitUntil("there is a fork server\n\(stage.service.messages())") { stage.forkServer != nil }
            let server = try #require(stage.forkServer)
            #expect(!stage.workers.contains { $0.arguments.contains("mixer") }, "a mixer waits")

            // First a server that hangs, then one that has ended.
            kill(server, SIGSTOP)
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await waitUntil("the loss is told of") {
                stage.relayLog()?.contains("a mixer is started, which takes longer") ?? false
            }
            kill(server, SIGKILL)
            try await waitUntil("another one runs") {
                stage.forkServer.map { $0 != server } ?? false
            }
            let task = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(task.outputs.map(\.reconnects) == [0])
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
        }
    }
}
