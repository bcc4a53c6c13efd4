import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// Rooms that share a relay process.
@Suite(.serialized) struct SharedProcessTests {
    private static let environment = ["MIXORCHESTRATOR_RELAY_PROGRAMS_PER_PROCESS": "8"]

    /// Opens another room, whose program is a bypass when this returns.
    private func openSecond(_ stage: Stage) async throws {
        try await stage.client.putRoom(
            "second", host: "bob", output: stage.media.cdn("second"), layout: stage.layout, canvas: stage.canvas)
        try await stage.client.published("second", user: "bob", url: stage.media.live("bob"), role: "host")
        try await waitUntil("the second room is on air") { try await self.second(stage)?.onAir == "bypass" }
    }

    private func second(_ stage: Stage) async throws -> ServiceClient.TaskState? {
        try await stage.client.task("second", name: nil)?.state
    }

    /// A neighbour comes and goes, the service is killed, and a mix begins and ends: viewers see the same as from a
    /// relay with a process of its own.
    @Test(.timeLimit(.minutes(5))) func aNeighbourCostsNoFrame() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20), environment: Self.environment) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let relay = try stage.relay()
            let viewer = try await stage.watch()
            try await openSecond(stage)
            #expect(try stage.relay() == relay, "a second process")

            try await stage.killService()
            try await Task.sleep(for: .seconds(1))
            try await stage.startServiceAgain()
            try await stage.waitForOnAir("bypass")
            try await waitUntil("the second room is found") {
                try await self.second(stage)?.onAir == "bypass"
            }
            #expect(try stage.relay() == relay, "the relay was started again")

            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await stage.client.deleteRoom("second")
            try await stage.leave("bob")
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            #expect(try stage.relay() == relay, "the neighbour's end has ended it")
            try await Task.sleep(for: .seconds(1))
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.isWhole(), "\(report.sources)")
        }
    }

    /// A crash of the process is a crash of each of its relays; afterwards they run in separate processes.
    @Test(.timeLimit(.minutes(5))) func aCrashBringsBothBackInProcessesOfTheirOwn() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20), environment: Self.environment) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await openSecond(stage)
            let relay = try stage.relay()
            kill(relay, SIGKILL)
            try await waitUntil("there are two relays") {
                let relays = stage.workers.filter { $0.arguments.contains("relay") }
                return relays.count == 2 && relays.allSatisfy { $0.arguments.contains("--task") }
            }
            try await stage.waitForOnAir("bypass")
            try await waitUntil("the second room is back") {
                try await self.second(stage)?.onAir == "bypass"
            }
            try await stage.client.deleteRoom("second")
            try await waitUntil("one relay is left") { (try? stage.relay()) != nil }
        }
    }
}
