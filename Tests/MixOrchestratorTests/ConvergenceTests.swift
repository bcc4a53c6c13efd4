import EncodedMedia
import EventSubscription
import Foundation
import LayoutEngine
import MixModel
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Events arrive twice, out of order or not at all, and the service crashes at any point. At the end its state is
/// correct.
@Suite(.serialized) struct ConvergenceTests {
    private static let outputs = [PushDestination(id: "main", url: "rtmp://127.0.0.1/out/demo")]
    private static let context = PlanningContext(
        template: Layouts().template("auto"), defaultOutputs: outputs, defaultCanvas: RoomCanvas(.portrait))

    /// Tests the state machines with a simulated store, relay and clock.
    @Test(.timeLimit(.minutes(5))) func whateverHappensTheStateIsTrueInTheEnd() async {
        let seed = SeededGenerator(announcedFor: "convergence").seed
        let runs = 10_000
        let workers = 2
        let results = await withTaskGroup(of: (crashes: Int, events: Int, faults: [String]).self) { group in
            for worker in 0..<workers {
                group.addTask {
                    var sum = (crashes: 0, events: 0, faults: [String]())
                    for run in stride(from: worker, to: runs, by: workers) {
                        // Other tests need the thread too.
                        await Task.yield()
                        // Each run has its own seed, so that it can be repeated.
                        let (crashes, events, faults) = Self.simulate(seed: seed &+ UInt64(run))
                        sum.crashes += crashes
                        sum.events += events
                        if !faults.isEmpty {
                            sum.faults.append("MIX_TEST_SEED=\(seed &+ UInt64(run)), its first run: \(faults)")
                        }
                    }
                    return sum
                }
            }
            return await group.reduce(into: (crashes: 0, events: 0, faults: [String]())) { sum, part in
                sum = (sum.crashes + part.crashes, sum.events + part.events, sum.faults + part.faults)
            }
        }
        for fault in results.faults.prefix(5) { Issue.record("\(fault)") }
        #expect(results.faults.isEmpty, "\(results.faults.count) of \(runs) runs")
        #expect(results.crashes > runs / 4)
        print("\(runs) runs, \(results.events) deliveries, \(results.crashes) crashes")
    }

    /// Checks that the check itself finds faults.
    @Test func aServiceThatAnswersTooSoonIsNotTrue() {
        let seed = SeededGenerator(announcedFor: "answers too soon").seed
        let untrue = (0..<500).count { !Self.simulate(seed: seed &+ UInt64($0), answersTooSoon: true).faults.isEmpty }
        print("\(untrue) of 500 runs are not true")
        #expect(untrue > 10)
    }

    private static func simulate(
        seed: UInt64, answersTooSoon: Bool = false
    ) -> (crashes: Int, events: Int, faults: [String]) {
        var random = SeededGenerator(seed: seed)
        let history = RoomHistory(room: "demo", &random)
        var service = SimulatedService(
            Room(id: "demo", settings: history.settings), context: context, random: random,
            answersTooSoon: answersTooSoon)
        for event in history.deliveries { service.tell(event) }
        service.pass(10_000_000_000)
        let faults = history.faults(service.storedRoom, service.storedPlan, outputs: outputs) + service.relayFaults
        return (service.crashes, history.deliveries.count, faults)
    }

    /// Tests the real owners and their registry with many rooms at once, over a store that loses uncommitted changes.
    @Test(.timeLimit(.minutes(5))) func theServiceItselfConverges() async throws {
        var random = SeededGenerator(announcedFor: "convergence of the service")
        let seed = random.seed
        let histories = (0..<300).map { RoomHistory(room: RoomID("r\($0)"), &random) }
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let service = CrashingService(relays: relays, directory: directory, seed: random.next())
            try await service.run {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for history in histories {
                        group.addTask {
                            try await service.configure(history.room, history.settings)
                            for event in history.deliveries { try await service.tell(event) }
                        }
                    }
                    try await group.waitForAll()
                }
                await service.endCrashes()
                for history in histories {
                    var faults: [String] = []
                    try await eventually("seed \(seed), \(history.room)") {
                        let room = try await service.store.room(history.room)?.document
                        let task = try await service.store.task(.automatic(for: history.room))?.document
                        faults = room.map { history.faults($0, task?.plan, outputs: history.outputs) } ?? ["no room"]
                        return faults.isEmpty ? true : nil
                    }
                }
            }
            print("\(histories.count) rooms, \(await service.crashes) crashes")
            #expect(await service.crashes > 3)
        }
    }
}

/// A service that crashes now and then, as a whole, and is started again.
private actor CrashingService {
    /// The store, which survives the crashes.
    nonisolated let store = MemoryTaskStore()
    private nonisolated let relays: ScriptedRelays
    private nonisolated let directory: String
    private var random: SeededGenerator
    private var life: (store: FragileStore, registry: RoomRegistry)?
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private(set) var crashes = 0
    private var mayCrash = true

    init(relays: ScriptedRelays, directory: String, seed: UInt64) {
        self.relays = relays
        self.directory = directory
        random = SeededGenerator(seed: seed)
    }

    /// Runs one life after another while `body` runs.
    nonisolated func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { while !Task.isCancelled { try await self.live() } }
            try await body()
            group.cancelAll()
        }
    }

    private func live() async throws {
        let writes = mayCrash ? Int.random(in: 100...900, using: &random) : .max
        let fragile = FragileStore(store, writes: writes, isLastKept: Bool.random(using: &random))
        try await withRegistry(fragile, relays: relays, in: directory, hasOutputs: true) { registry in
            await self.begin(fragile, registry)
            await fragile.death()
        }
    }

    private func begin(_ store: FragileStore, _ registry: RoomRegistry) {
        life = (store, registry)
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    private func registry() async -> RoomRegistry {
        while true {
            if let life, !life.store.isDead { return life.registry }
            if life != nil {
                life = nil
                crashes += 1
            }
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    /// Sends an event until the service has answered it.
    func tell(_ event: RoomEvent) async throws {
        while true {
            do throws(OrchestratorError) {
                _ = try await registry().owner(event.room).receive(event, at: MonotonicClock.now())
                return
            } catch {
                await Task.yield()
            }
        }
    }

    func configure(_ room: RoomID, _ settings: RoomSettings) async throws {
        while true {
            do throws(OrchestratorError) {
                let change = SettingsChange(summary: "test") { _, _ in settings }
                _ = try await registry().owner(room).configure(change, at: MonotonicClock.now())
                return
            } catch {
                await Task.yield()
            }
        }
    }

    func endCrashes() { mayCrash = false; life?.store.spare() }
}

/// A store that drops every change after a given number of them, as if the process had been killed.
private final class FragileStore: ForwardingTaskStore {
    let base: any TaskStore
    private let state: Mutex<(left: Int, isDead: Bool)>
    /// Whether the last change is stored, although its caller gets no answer.
    private let isLastKept: Bool
    private let deaths: AsyncStream<Void>
    private let dies: AsyncStream<Void>.Continuation

    init(_ base: any TaskStore, writes: Int, isLastKept: Bool) {
        self.base = base
        self.isLastKept = isLastKept
        state = Mutex((writes, false))
        (deaths, dies) = AsyncStream.makeStream()
    }

    var isDead: Bool { state.withLock { $0.isDead } }

    /// Returns when the store has died, or on cancellation.
    func death() async { for await _ in deaths {} }

    func spare() { state.withLock { if !$0.isDead { $0.left = .max } } }

    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        let isLast: Bool? = state.withLock { state in
            if state.isDead { return nil }
            state.left -= 1
            state.isDead = state.left == 0
            return state.isDead
        }
        guard let isLast else { throw .engine("dead") }
        if !isLast { return try await base.commit(change) }
        if isLastKept { _ = try await base.commit(change) }
        dies.finish()
        throw .engine("dead")
    }
}
