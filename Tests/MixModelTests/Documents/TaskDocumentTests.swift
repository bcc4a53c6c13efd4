import Foundation
import TestSupport
import Testing

@testable import MixModel

/// Tasks that are read from the store.
@Suite struct TaskDocumentTests {
    private static let phases: [TaskMachine.Phase] = [
        .waiting(after: nil), .waiting(after: .idle), .waiting(after: .noCapacity), .held(until: nil),
        .held(until: "böb"), .starting, .running, .recovering, .ending(.requested), .ending(.hostLeft),
        .finished(.requested),
    ]

    private static func read(_ text: String) throws -> TaskMachine {
        try JSONDecoder().decode(TaskMachine.self, from: Data(text.utf8))
    }
    private static func fields(_ data: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
    private static func fields(_ text: String) throws -> [String: Any] { try fields(Data(text.utf8)) }
    private static func isSame(_ one: [String: Any], _ other: [String: Any]) -> Bool {
        NSDictionary(dictionary: one) == NSDictionary(dictionary: other)
    }

    // MARK: Documents of earlier versions

    @Test(arguments: StoredTasks.samples.keys.sorted())
    func aStoredTaskIsWrittenAsItWas(_ name: String) throws {
        let stored = try #require(StoredTasks.samples[name])
        let task = try Self.read(stored)
        let written = try task.document()
        #expect(try Self.isSame(Self.fields(written), Self.fields(stored)), "\(written)")
        #expect(try Self.isSame(Self.fields(JSONEncoder().encode(task)), Self.fields(stored)))
        try expectSame(task)
    }

    @Test func samplesHaveEveryPhase() throws {
        let names = try StoredTasks.samples.values.map { document in
            try #require((Self.fields(document)["phase"] as? [String: Any])?.keys.first)
        }
        let all: Set = ["waiting", "held", "starting", "running", "recovering", "ending", "finished"]
        #expect(Set(names) == all)
    }

    @Test func aStoredTaskIsWhatItWas() throws {
        func sample(_ name: String) throws -> TaskMachine { try Self.read(#require(StoredTasks.samples[name])) }
        let refused = try sample("waiting for capacity")
        #expect(refused.awaitsCapacity && !refused.isAtRest && refused.refusal?.availableCores == 0.05)
        #expect(refused.lastError?.hasPrefix("no capacity: the program needs 0.32 cores") == true)
        let recovering = try sample("recovering")
        #expect(recovering.plan?.mode == .mix(host: "alice/camera") && recovering.host == "alice")
        #expect(recovering.lastError == "killed" && recovering.launchesFailed == 1)
        let ending = try sample("ending by request")
        #expect(ending.plan == nil && ending.host == "alice" && ending.lastError == "killed")
        let idle = try sample("waiting after idleness")
        #expect(idle.isAtRest && idle.revision == 4 && idle.sourceFacts?.absent == ["eve/camera"])
        let explicit = try sample("explicit changed")
        #expect(explicit.settings?.layout == "grid" && explicit.settingsVersion == 8 && explicit.attachment != nil)
        #expect(explicit.madeAt == 1_700_000_000.25 && !explicit.isFinishing)
        let finished = try sample("finished while it waited for capacity")
        #expect(finished.finishedAt == 1_700_000_100 && finished.refusal != nil && finished.lastError != nil)
    }

    @Test func aDeadlineOfAFinishedTaskIsForgotten() throws {
        let task = try Self.read(StoredTasks.finishedWithADeadline)
        var expected = try Self.fields(StoredTasks.finishedWithADeadline)
        #expect(expected.removeValue(forKey: "idleDeadline") as? Int == 1)
        #expect(try Self.isSame(Self.fields(task.document()), expected))
        #expect(task.isDisposable)
    }

    // MARK: Documents that no task writes

    /// A task is read and continues, whatever keys stand beside its phase.
    @Test func anyKeysAreRead() throws {
        var random = SeededGenerator(announcedFor: "keys of stored tasks")
        let seed = random.seed
        let everything = try Self.fields(ProgramDocumentTests().taskDocument.document())
        let required: Set = ["id", "room", "phase", "revision", "pending", "deadlines", "failedLaunches"]
        for run in 0..<300 {
            var stored = everything
            for key in everything.keys.sorted() where !required.contains(key) && Bool.random(using: &random) {
                stored[key] = nil
            }
            if Bool.random(using: &random) { stored["pending"] = [Any]() }
            let phase = Self.phases.randomElement(using: &random) ?? .running
            stored["phase"] = try Self.fields(phase.document())
            try check(stored, phase, "seed \(seed), run \(run): \(stored.keys.sorted())")
        }
    }

    private func check(_ stored: [String: Any], _ phase: TaskMachine.Phase, _ name: String) throws {
        let data = try JSONSerialization.data(withJSONObject: stored)
        let flat = try JSONDecoder().decode(TaskDocument.self, from: data)
        let task = try JSONDecoder().decode(TaskMachine.self, from: data)
        #expect((task.id, task.room) == ("t", "app/r") && task.revision == 4, "\(name)")
        #expect(task.phase == phase && task.sourceFacts == flat.sourceFacts, "\(name)")
        #expect(task.isExplicit == (flat.settings != nil) && task.settings == flat.settings, "\(name)")
        let isOnAir = [.starting, .running, .recovering].contains(phase)
        #expect(task.plan == (isOnAir ? flat.plan : nil), "\(name)")
        #expect(!isOnAir || task.lastError == flat.lastError, "\(name)")
        // Only fields that were there are written, apart from the text of a refusal.
        for (key, value) in try Self.fields(task.document()) where isOnAir || key != "lastError" {
            let isEmpty = key == "pending" && (value as? [Any])?.isEmpty == true
            let before = stored[key].map { [key: $0] } ?? [:]
            #expect(isEmpty || Self.isSame(before, [key: value]), "\(key), \(name)")
        }
        try expectSame(task, name)

        var bench = TaskMachineTests.Bench()
        _ = bench.publish("alice")
        bench.task = task
        let actions = bench.task.restored(room: bench.room, context: bench.context, now: bench.now)
        switch phase {
        case .waiting, .starting, .running, .recovering:
            #expect(actions.contains(.launchRelay) && bench.task.isActive, "\(name)")
            #expect(actions.plans.last?.revision == 5, "\(name)")
            #expect(actions.plans.last?.sources.map(\.id) == ["alice/camera"], "\(name)")
        case .ending: #expect(actions == [.drainRelay], "\(name)")
        case .held, .finished: #expect(actions.isEmpty, "\(name)")
        }
    }

    @Test func aProgramWithoutAPlanIsPlannedWhenItsRelayIsTakenOver() throws {
        var document = TaskDocument(id: "auto-demo", room: "demo", phase: .running)
        document.revision = 6
        var bench = TaskMachineTests.Bench()
        _ = bench.publish("alice")
        bench.task = TaskMachine(document)
        #expect(bench.task.isActive && bench.task.plan == nil)
        let actions = bench.task.restored(room: bench.room, context: bench.context, now: bench.now)
        #expect(actions.first == .launchRelay)
        #expect(actions.plans.map(\.revision) == [7])
    }

    @Test func aRefusalWithoutFiguresIsStillOne() {
        var bench = TaskMachineTests.Bench()
        bench.task = TaskMachine(TaskDocument(id: "auto-demo", room: "demo", phase: .waiting(after: .noCapacity)))
        #expect(bench.task.awaitsCapacity && bench.task.refusal == nil)
        bench.context.admission = Admission(availableCores: 0, costs: CostModel())
        #expect(bench.publish("alice").isEmpty, "the timeline has it already")
        #expect(bench.task.awaitsCapacity && bench.task.refusal?.availableCores == 0)
    }

    @Test func numbersAtTheirLimitsAreTaken() {
        var document = ProgramDocumentTests().taskDocument
        document.revision = .max
        document.plan?.revision = .max - 1
        (document.deadlines, document.failedLaunches) = (.max, .max)
        var bench = TaskMachineTests.Bench()
        bench.task = TaskMachine(document)
        let actions = bench.task.restored(room: bench.room, context: bench.context, now: bench.now)
        #expect(actions.plans.last?.revision == .max)
        #expect(actions.deadlines.count == 1, "the room is empty")
        #expect(bench.task.relayLost("killed", now: bench.now).deadlines.count == 1)
        #expect(bench.connect(revision: .max).plans.isEmpty)
    }
}
