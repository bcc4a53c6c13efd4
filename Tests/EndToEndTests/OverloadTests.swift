import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import MixModel
@testable import ProgramMixer
@testable import ViewerProbe

/// More mixes than the machine can carry reduce their load in steps: none ends, and rooms without capacity wait.
@Suite(.serialized) struct OverloadTests {
    private struct Load: Decodable {
        struct Degradation: Decodable {
            var level: Int
            var fps: Double
            var reason: String
        }
        var state: String
        var onAir: String?
        var degradation: Degradation?
    }

    /// Returns the loads that the tasks of these rooms report.
    private static func loads(_ stage: Stage, _ rooms: [String]) async throws -> [Load] {
        var loads: [Load] = []
        for room in rooms {
            guard let json = try await stage.client.task(room)?.json else { continue }
            loads.append(try JSONDecoder().decode(Load.self, from: json))
        }
        return loads
    }

    private static func line(_ loads: [Load], _ begin: ContinuousClock.Instant) -> String {
        let levels = loads.map { "\($0.degradation?.level ?? 0)" }.joined(separator: " ")
        return "\((ContinuousClock.now - begin).components.seconds) s: levels \(levels)"
    }

    @Test(.timeLimit(.minutes(20))) func tooManyMixesGiveWayAndNoneEnds() async throws {
        // The service admits twice the machine's capacity.
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let environment = [
            "MIXORCHESTRATOR_ADMISSION_CORES": "1000", "MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL": "4",
        ]
        try await Stage.run(environment: environment) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2))
            let rooms = (0..<cores * 5).map { "load-\($0)" }
            for room in rooms {
                try await stage.client.putRoom(
                    room, host: "alice", output: stage.media.cdn(room), layout: "side-by-side", canvas: .portrait)
                try await stage.client.published(room, user: "alice", url: stage.media.live("alice"), role: "host")
                try await stage.client.published(room, user: "bob", url: stage.media.live("bob"))
            }
            let begin = ContinuousClock.now
            var steps: [String] = []
            var loads: [Load] = []
            // All mixes begin, and then there is more work than capacity.
            try await waitUntil("levels rise: \(loads)", within: 300) {
                loads = try await Self.loads(stage, rooms)
                let line = Self.line(loads, begin)
                if steps.last?.split(separator: ":").last != line.split(separator: ":").last { steps.append(line) }
                return loads.count == rooms.count && loads.allSatisfy { $0.state == "running" }
                    && loads.count { $0.degradation?.level ?? 0 > 0 } >= 2
            }
            print(steps.joined(separator: "\n"))
            #expect(loads.count == rooms.count && loads.allSatisfy { $0.state == "running" }, "\(loads)")
            let index = try #require(loads.firstIndex { $0.degradation?.level ?? 0 > 0 })
            let degraded = try #require(loads[index].degradation)
            #expect(degraded.fps < 20)
            #expect(degraded.reason.contains("busy") || degraded.reason.contains("late"), "\(degraded.reason)")
            try await waitUntil("the timeline tells") {
                try await stage.client.timeline(rooms[index]).contains { $0.contains("frame is rendered (load level") }
            }
            // All mixes except one are deleted: the load falls, and the last one returns to full quality if the machine
            // is otherwise idle, 20 s of calm per level. The short form only watches the mix for as long as one level takes.
            for room in rooms where room != rooms[index] { try await stage.client.deleteRoom(room) }
            let calm: Double = TestLength.of(short: 25, long: 75)
            let isWhole: Void? = try? await waitUntil("the levels fall", within: calm) {
                try await Self.loads(stage, [rooms[index]]).allSatisfy { $0.degradation == nil }
            }
            print(Self.line(try await Self.loads(stage, [rooms[index]]), begin), isWhole == nil ? "(not calm)" : "")
            #expect(try await Self.loads(stage, [rooms[index]]).map(\.state) == ["running"])
            try await stage.client.deleteRoom(rooms[index])
        }
    }

    @Test(.timeLimit(.minutes(12))) func whoHasNoPlaceWaitsForIt() async throws {
        try await Stage.run(environment: ["MIXORCHESTRATOR_ADMISSION_CORES": "0.01"]) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1))
            try await stage.open(host: "alice")
            try await stage.client.putRoom(
                "second", host: "alice", output: stage.media.cdn("second"), layout: "side-by-side", canvas: .portrait)
            try await stage.client.published("second", user: "alice", url: stage.media.live("alice"), role: "host")
            var waiting: [Load] = []
            try await waitUntil("the second room has a task") {
                waiting = try await Self.loads(stage, ["second"])
                return !waiting.isEmpty
            }
            #expect(waiting.map(\.state) == ["stopped"])
            try await stage.client.deleteRoom(stage.room)
            try await waitUntil("the second room is on air") {
                try await Self.loads(stage, ["second"]).map(\.onAir) == ["bypass"]
            }
            try await stage.client.deleteRoom("second")
        }
    }
}
