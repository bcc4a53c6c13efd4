import Foundation
import Logging
import MixModel
import Testing

@testable import EncodedMedia
@testable import MixOrchestrator
@testable import RoomService

/// The service's handling of load, as its clients see it.
@Suite struct LoadFlowTests {
    @Test func aTaskThatDoesNotFitWaitsAndStartsByItself() async throws {
        try await withDirectory { directory in
            // Only the first task fits.
            let settings = ["admission.cores": ["0.001"]]
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await bench.publish("alice", room: "one")
                try await bench.plan { $0.room == "one" }
                try await bench.publish("bob", room: "two")
                let refused = try await bench.call(.get, "/v1/tasks/auto-two")
                #expect(try refused.value("state") == "stopped")
                #expect(try refused.value("endReason") == "noCapacity")
                let error = try #require(try refused.value("lastError"))
                #expect(error.contains("no capacity") && error.contains("are free"), "\(error)")
                let timeline = try await bench.call(.get, "/v1/tasks/auto-two/timeline")
                #expect(timeline.text.contains("task does not start: no capacity"))
                #expect(bench.relays.started.count == 1)
                let metrics = try await bench.call(.get, "/metrics").text
                for line in ["admission_refusals_total 1", "tasks_waiting 1", "cpu_cores_available 0"] {
                    #expect(metrics.contains("\n\(line)\n"), "\(line)")
                }
                let committed = metrics.firstMatch(of: /\ncpu_cores_committed ([0-9.e-]+)\n/)
                #expect(Double(committed?.1 ?? "") ?? 0 > 0)
                // The event was accepted as usual.
                #expect(try await bench.call(.get, "/v1/rooms/two").value("participants.0.user") == "bob")
                // The waiting task starts by itself when the first one ends.
                #expect(try await bench.call(.delete, "/v1/rooms/one").status == 204)
                try await bench.plan("the waiting task starts") { $0.room == "two" }
                let started = try await bench.call(.get, "/v1/tasks/auto-two")
                #expect(try started.value("lastError") == nil)
            }
        }
    }

    @Test func anExplicitTaskThatDoesNotFitIsRefusedAndNotKept() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: ["admission.cores": ["0.001"]]) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.room == "demo" }
                let body = #"{"id":"second","room":"demo","outputs":[{"id":"x","url":"rtmp://127.0.0.1/out/x"}]}"#
                let refused = try await bench.call(.post, "/v1/tasks", body)
                #expect(refused.status == 503)
                #expect(try refused.value("type") == "urn:mixorchestrator:problem:no-capacity")
                let needed = Double(try refused.value("neededCores") ?? "") ?? 0
                #expect(needed > 0.1, "\(refused.text)")
                #expect(try refused.value("availableCores") == "0")
                #expect(refused.headers[.retryAfter] == "5")
                #expect(try await bench.call(.get, "/v1/tasks/second").status == 404)
                // The same request is accepted once there is room: the refused one has left nothing behind.
                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                try await eventually { bench.relays.running.isEmpty ? true : nil }
                try await eventually { try await bench.call(.post, "/v1/tasks", body).status == 201 ? true : nil }
            }
        }
    }

    /// Otherwise requests that are repeated while the store fails would use up the machine's capacity.
    @Test func aProgramThatIsNotStoredIsNotBooked() async throws {
        try await withDirectory { directory in
            let store = BreakableStore()
            try await withOrchestrator(
                directory: directory, store: store, settings: ["rooms.outputs": []]
            ) { bench in
                func committed() async throws -> Double {
                    let metrics = try await bench.call(.get, "/metrics").text
                    let line = metrics.firstMatch(of: /\ncpu_cores_committed ([0-9.e-]+)\n/)
                    return try #require(Double(line?.1 ?? ""))
                }
                let settings = #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/out/a"}]}"#
                let task = #"{"room":"demo","outputs":[{"id":"b","url":"rtmp://127.0.0.1/out/b"}]}"#
                try await bench.publish("alice")
                #expect(try await committed() == 0)
                store.breaks(true)
                #expect(try await bench.call(.post, "/v1/tasks", task).status == 503)
                #expect(try await committed() == 0, "a new task")
                #expect(try await bench.call(.put, "/v1/rooms/demo", settings).status == 503)
                #expect(try await committed() == 0, "a task that was waiting")
                store.breaks(false)
                #expect(try await bench.call(.post, "/v1/tasks", task).status == 201)
                #expect(try await committed() > 0)
            }
        }
    }

    @Test func prioritiesAreReadAndShown() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let made = try await bench.call(.put, "/v1/rooms/demo", #"{"policy":{"priority":8}}"#)
                #expect(made.status == 201, "\(made.text)")
                #expect(try made.value("policy.priority") == "8")
                try await bench.publish("alice")
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").value("settings.policy.priority") == "8")
                #expect(try await bench.call(.put, "/v1/rooms/other", "{}").value("policy.priority") == "5")
                let wrong = try await bench.call(.put, "/v1/rooms/demo", #"{"policy":{"priority":10}}"#)
                #expect(wrong.status == 400 || wrong.status == 422, "\(wrong.text)")
                #expect(wrong.text.contains("policy.priority"))
            }
        }
    }

    /// A mixer with late frames gets a lower frame rate, which the task, its timeline and its relay show.
    @Test func aLevelGoesToTheRelayAndIsShown() async throws {
        try await withDirectory { directory in
            let settings = ["overload.highestLevel": ["1"]]
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await bench.publish("alice")
                try await bench.publish("bob")
                let before = try await bench.plan { $0.sources.count == 2 }
                let relay = try #require(bench.relays.started.last)
                var rounds = 0
                let plan = try await eventually("a level") { () -> ProgramPlan? in
                    rounds += 1
                    // Such reports come now and then, not at every check.
                    if rounds % 100 == 0 { relay.report(.status(Self.struggling(before, rounds / 100))) }
                    return relay.plan.flatMap { $0.degradation == nil ? nil : $0 }
                }
                #expect(plan.degradation?.level == 1 && plan.degradation?.frameDivisor == 2)
                #expect(plan.mode == before.mode && plan.sources == before.sources && plan.scene == before.scene)
                let task = try await bench.call(.get, "/v1/tasks/auto-demo")
                #expect(try task.value("degradation.level") == "1")
                #expect(try task.value("degradation.fps") == "10")
                #expect(try task.value("degradation.reason")?.contains("frames are late") == true)
                #expect(try task.value("state") == "running")
                let metrics = try await bench.call(.get, "/metrics").text
                #expect(metrics.contains("\ndegraded_tasks{level=\"1\"} 1\n"))
                #expect(metrics.contains("\ndegraded_tasks{level=\"2\"} 0\n"))
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline")
                #expect(timeline.text.contains("every 2nd frame is rendered (load level 1)"))
                #expect(timeline.text.contains("load: ") && timeline.text.contains("of the mixed frames are late"))
            }
        }
    }

    /// Half of the frames are late in every second.
    private static func struggling(_ plan: ProgramPlan, _ second: Int) -> RelayStatus {
        var pace = FramePace()
        for frame in 0..<second * 20 {
            let pts = MediaTime.milliseconds(10_000 + frame * 50)
            pace.take(
                pts: pts, now: pts + .milliseconds(frame % 2 == 0 ? 50 : 900), origin: .zero,
                interval: .milliseconds(50))
        }
        return RelayStatus(
            task: plan.task, processID: 90_000_000, revision: plan.revision, onAir: .mix, bypassSource: nil,
            scene: plan.scene, sources: [], outputs: [], programTime: .seconds(Double(second + 10)),
            load: RelayLoad(
                relaySeconds: Double(second) * 0.01,
                mixer: MixerLoad(processID: 7, cpuSeconds: Double(second) * 0.3, frameDivisor: 1, pace: pace)))
    }

    @Test func settingsThatMakeNoSenseAreRefused() throws {
        for (key, value, expected) in [
            ("admission.cores", "-1", "0.0…4096.0"), ("admission.utilisation", "2", "0.1…1.0"),
            ("overload.highestLevel", "5", "0…4"), ("admission.cores", "many", "a number"),
        ] {
            do {
                _ = try testConfiguration("/tmp/x", [key: [value]])
                Issue.record("\(key)=\(value) was taken")
            } catch {
                #expect("\(error)".contains(key) && "\(error)".contains(expected), "\(error)")
            }
        }
        let load = try testConfiguration("/tmp/x", ["admission.cores": [""], "overload.highestLevel": [""]]).load
        #expect(load == LoadSettings())
    }

    @Test func whatWasLearntSurvivesAndDamageDoesNotMatter() async throws {
        try await withDirectory { directory in
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let file = CostFile(data: directory)
            #expect(file.read(logger: logger) == CostModel())
            var model = CostModel()
            for _ in 0..<20 {
                model.learn(
                    CostMeasurement(workload: .mixOfTwo(on: .portrait), relayCores: 0.02, mixerCores: 0.9))
            }
            try file.write(model)
            #expect(file.read(logger: logger) == model)
            for damage in ["", "{", "{\"relay\":{},\"mixer\":{}}"] {
                try Data(damage.utf8).write(to: URL(fileURLWithPath: file.path))
                #expect(file.read(logger: logger) == CostModel())
            }
        }
    }
}
