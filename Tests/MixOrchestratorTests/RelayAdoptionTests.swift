import EncodedMedia
import Foundation
import MixModel
import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The rules for adopting running relays.
@Suite(.timeLimit(.minutes(2))) struct RelayAdoptionTests {
    /// A relay names its task before it gets any command.
    @Test func theRelayOfAnotherTaskIsNotAdopted() async throws {
        try await withDirectory { directory in
            let stranger = ScriptedRelay(
                task: "auto-other", socket: directory + "/relays/auto-demo.sock", processID: 4711)
            defer { stranger.kill() }
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                // The unwanted relay appears after the start, since relays that exist at the start are drained.
                stranger.listen()
                try await eventually { FileManager.default.fileExists(atPath: stranger.socket) ? true : nil }
                try await bench.publish("alice")
                let error = try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("lastError")
                }
                #expect(error == "the socket belongs to the relay of auto-other")
                #expect(stranger.commands.allSatisfy { $0 == .hello(version: RelayCommand.version) })
                #expect(stranger.plans.isEmpty)
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").value("relayProcess") == nil)
            }
        }
    }

    @Test func relaysThatNoTaskWantsAreDrainedAndOthersAreNot() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let store = MemoryTaskStore()
            try await withRegistry(store, relays: relays, in: directory, hasOutputs: true) { registry in
                _ = try await registry.owner("demo").receive(publication("demo"), at: MonotonicClock.now())
                try await eventually { relays.started.first?.plan }
            }
            let wanted = try #require(relays.started.first)
            let unwanted = ["auto-gone", "auto-lost"].map { name in
                ScriptedRelay(task: TaskID(name), socket: "\(directory)/relays/\(name).sock", processID: 4711)
            }
            for relay in unwanted { relay.listen() }
            // The socket's file remains, and no process listens on it.
            let stale = ScriptedRelay(
                task: "auto-stale", socket: "\(directory)/relays/auto-stale.sock", processID: 4711)
            stale.listen()
            try await eventually {
                (unwanted + [stale]).allSatisfy { FileManager.default.fileExists(atPath: $0.socket) } ? true : nil
            }
            stale.kill()
            let log = LogRecorder()
            try await withRegistry(store, relays: relays, in: directory, hasOutputs: true, log: log) { registry in
                try await eventually { unwanted.allSatisfy { $0.exitDescription() != nil } ? true : nil }
                let owner = try await registry.owner("demo")
                try await eventually { await owner.snapshot.task("auto-demo")?.status }
                #expect(wanted.exitDescription() == nil)
                #expect(!FileManager.default.fileExists(atPath: stale.socket))
                #expect(relays.started.count == 1)
            }
            for relay in unwanted { #expect(relay.commands.last == .drain) }
            #expect(log.text.contains("auto-gone"))
        }
    }

    /// A relay that an earlier version of the service started listens under another name, and stays on air.
    @Test(arguments: ["shop/auto-demo", "shop/auto-other"] as [TaskID])
    func theRelayOfAnEarlierVersionIsTakenOver(_ inside: TaskID) async throws {
        try await withDirectory { directory in
            let task: TaskID = "shop/auto-demo"
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let store = MemoryTaskStore()
            try await withRegistry(store, relays: relays, in: directory, hasOutputs: true) { registry in
                _ = try await registry.owner("shop/demo").receive(publication("shop/demo"), at: MonotonicClock.now())
                try await eventually { relays.started.first?.plan }
            }
            relays.tearDown()
            for name in try FileManager.default.contentsOfDirectory(atPath: directory + "/relays") {
                unlink("\(directory)/relays/\(name)")
            }
            // The name is FNV-1a of the task's id.
            let former = ScriptedRelay(
                task: inside, socket: "\(directory)/relays/_\(Self.formerName(task)).sock", processID: 4711)
            former.listen()
            defer { former.kill() }
            try await eventually { FileManager.default.fileExists(atPath: former.socket) ? true : nil }
            let started = relays.started.count
            try await withRegistry(store, relays: relays, in: directory, hasOutputs: true) { registry in
                if inside == task {
                    try await eventually { former.plan }
                    #expect(former.commands.last != .drain)
                    #expect(relays.started.count == started)
                } else {
                    // Another task's relay ends properly, and this task gets its own.
                    try await eventually { former.exitDescription() }
                    #expect(former.commands.last == .drain && former.plans.isEmpty)
                    try await eventually { relays.started.count > started ? relays.started.last?.plan : nil }
                }
            }
        }
    }

    private static func formerName(_ task: TaskID) -> String {
        String(
            task.rawValue.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 },
            radix: 36)
    }

    /// The start reads only rooms that have a relay, or participants for a program.
    @Test func aStartReadsWhatIsLive() async throws {
        try await withDirectory { directory in
            let store = MemoryTaskStore()
            for number in 0..<100 {
                var room = Room(id: RoomID("r\(number)"))
                if number < 3 {
                    room.settings.outputs = [PushDestination(id: "main", url: "rtmp://127.0.0.1/\(number)")]
                }
                // Streams without a destination are not waited for.
                if number < 6 { _ = RoomMachine.apply(publication(room.id), to: &room) }
                _ = try await store.commit(StoreChange(room: .put(room, expected: 0)))
            }
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            try await withRegistry(store, relays: relays, in: directory) { registry in
                try await eventually { registry.ownerCount == 3 ? true : nil }
                #expect(registry.owners.map(\.id) == ["r0", "r1", "r2"])
                #expect(await registry.census().rooms == 100)
                #expect(try await registry.existingOwner("r77") != nil)
            }
        }
    }

    @Test func soManyPassAtOnce() async throws {
        let turnstile = Turnstile(limit: 3)
        let inside = Gauge()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    if number % 10 == 9 { withUnsafeCurrentTask { $0?.cancel() } }
                    do {
                        try await turnstile.pass {
                            inside.enter()
                            for _ in 0..<5 { await Task.yield() }
                            inside.leave()
                        }
                    } catch is CancellationError {}
                }
            }
            try await group.waitForAll()
        }
        #expect(inside.most == 3)
        // Cancelled tasks release their places.
        for _ in 0..<4 { try await turnstile.pass {} }
    }
}

private func publication(_ room: RoomID) -> RoomEvent {
    RoomEvent(
        room: room, source: "s", id: "\(room)",
        kind: .streamPublished(Publication(user: "alice", url: "rtmp://127.0.0.1/live/alice")))
}

private final class Gauge: Sendable {
    private let state = Mutex((now: 0, most: 0))
    var most: Int { state.withLock { $0.most } }
    func enter() {
        state.withLock { state in
            state.now += 1
            state.most = max(state.most, state.now)
        }
    }
    func leave() { state.withLock { $0.now -= 1 } }
}
