import EncodedMedia
import Foundation
import Logging
import MixModel
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The rooms that are held in memory, which callers cannot notice.
@Suite(.timeLimit(.minutes(5))) struct RoomRegistryTests {
    /// Every request ends, even if the registry is cancelled while rooms are loaded.
    @Test func everyRequestEndsWithTheRegistry() async throws {
        let (begun, ended) = (LockedBox(0), LockedBox(0))
        for round in 0..<300 {
            try await withRegistry(MemoryTaskStore()) { registry in
                for number in 0..<24 {
                    begun.value += 1
                    Task {
                        _ = try? await registry.owner(RoomID("r\(number)")).receive(
                            joined(RoomID("r\(number)"), "alice", "1"), at: 0)
                        ended.update { $0 += 1 }
                    }
                }
                for _ in 0..<round % 20 { await Task.yield() }
            }
        }
        let count = begun.value
        try await eventually("a request has no answer") { ended.value == count ? true : nil }
    }

    @Test func roomsInWhichNothingHappensAreDroppedAndComeBack() async throws {
        let store = MemoryTaskStore()
        try await withRegistry(store) { registry in
            for number in 0..<50 {
                let room = RoomID("r\(number)")
                _ = try await registry.owner(room).receive(joined(room, "alice", "1"), at: 0)
            }
            _ = try await registry.owner("busy").receive(published("busy", "alice", "1"), at: 0)
            try await eventually {
                await registry.sweep()
                return registry.ownerCount == 1 ? true : nil
            }
            #expect(try await store.rooms().count == 51)

            let owner = try await registry.owner("r7")
            #expect(await owner.snapshot.room.document.participants.map(\.user) == ["alice"])
            #expect(try await owner.receive(joined("r7", "alice", "1"), at: 0) == .duplicate)
            #expect(try await owner.receive(joined("r7", "bob", "2"), at: 0) == .accepted)
            #expect(try await store.room("r7")?.version == 2)
            #expect(try await registry.existingOwner("nobody") == nil)
        }
    }

    /// Streams without a destination do not keep their room in memory, and a start does not load such rooms.
    @Test func roomsWithStreamsAndWithoutATaskAreDroppedAndNotLoadedByAStart() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            try await withRegistry(store, in: directory) { registry in
                for number in 0..<50 {
                    let room = RoomID("r\(number)")
                    _ = try await registry.owner(room).receive(published(room, "alice", "1"), at: 0)
                }
                #expect(registry.ownerCount == 50)
                try await eventually {
                    await registry.sweep()
                    return registry.ownerCount == 0 ? true : nil
                }
                let owner = try await registry.owner("r7")
                #expect(await owner.snapshot.room.document.streams.map(\.id) == ["alice/camera"])
                #expect(try await owner.receive(published("r7", "bob", "2"), at: 0) == .accepted)
            }
            // A room is needed if a stream in it has a program that waits.
            let needed = RoomSettings(outputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")])
            var room = Room(id: "needed", settings: needed)
            _ = RoomMachine.apply(published("needed", "alice", "1"), to: &room)
            _ = try await store.commit(StoreChange(room: .put(room, expected: 0)))
            let loads = LoadCounter(base: store)
            try await withRegistry(loads, in: directory) { registry in
                try await eventually { loads.rooms.value.isEmpty ? nil : true }
                try await eventually { registry.owners.map(\.id) == ["needed"] ? true : nil }
            }
            #expect(Set(loads.rooms.value) == ["needed"])
            await store.close()
        }
    }

    /// A room whose task has a relay stays in memory.
    @Test func roomsWithATaskStay() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            try await withRegistry(MemoryTaskStore(), relays: relays, in: directory, hasOutputs: true) { registry in
                _ = try await registry.owner("demo").receive(published("demo", "alice", "1"), at: MonotonicClock.now())
                let owner = try await registry.owner("demo")
                try await eventually { await owner.snapshot.task("auto-demo")?.status?.onAir == .bypass ? true : nil }
                for _ in 0..<10 { await registry.sweep() }
                #expect(registry.ownerCount == 1)
                let gone = RoomEvent(
                    room: "demo", source: "s", id: "2",
                    kind: .streamUnpublished(user: "alice", stream: .camera, reason: nil))
                _ = try await owner.receive(gone, at: MonotonicClock.now())
                for _ in 0..<10 { await registry.sweep() }
                // The slate is on air, although there is no stream.
                #expect(registry.ownerCount == 1)
                try await owner.delete(at: MonotonicClock.now())
                try await eventually {
                    await registry.sweep()
                    return registry.ownerCount == 0 ? true : nil
                }
                #expect(relays.running.isEmpty)
            }
        }
    }

    /// Owners are dropped as soon as they are idle, while requests that hold them arrive.
    @Test func noMessageIsLostToAnOwnerThatIsDropped() async throws {
        var random = SeededGenerator(announcedFor: "dropping owners")
        let rooms = (0..<3).map { RoomID("r\($0)") }
        let plans = (0..<8).map { sender in
            (0..<150).map { (room: rooms.randomElement(using: &random) ?? "r0", id: "\(sender)-\($0)") }
        }
        let store = MemoryTaskStore()
        let seen = SeenOwners()
        try await withRegistry(store) { registry in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let isOver = LockedFlag()
                group.addTask {
                    while !isOver.value {
                        await registry.sweep()
                        await Task.yield()
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { senders in
                    for plan in plans {
                        senders.addTask {
                            for (room, id) in plan {
                                let owner = try await registry.owner(room)
                                seen.add(owner)
                                for _ in 0..<Int(id.utf8.reduce(0) { $0 &+ UInt64($1) } % 4) { await Task.yield() }
                                let outcome = try await owner.receive(joined(room, "u\(id)", id), at: 0)
                                #expect(outcome == .accepted)
                            }
                        }
                    }
                    try await senders.waitForAll()
                }
                isOver.value = true
                try await group.waitForAll()
            }
        }
        let owners = seen.count
        print("owners made for \(rooms.count) rooms: \(owners)")
        #expect(owners > rooms.count, "no owner was dropped on the way")
        for room in rooms {
            let expected = plans.joined().filter { $0.room == room }.map { $0.id }
            let stored = try await store.events(of: room, limit: .max).map { $0.id }
            #expect(stored.sorted() == expected.map { "\(room) \($0)" }.sorted())
            let people = try await store.room(room)?.document.participants.map { "\($0.user)" } ?? []
            #expect(people.sorted() == expected.map { "u\($0)" }.sorted())
        }
    }

    /// Owners are folded at any moment, also while a request waits and while the service stops.
    @Test func whoIsFoldedAnswersAllTheSame() async throws {
        let store = MemoryTaskStore()
        let rooms = (0..<3).map { RoomID("r\($0)") }
        try await withRegistry(store) { registry in
            try await withThrowingTaskGroup(of: Void.self) { group in
                let isOver = LockedFlag()
                group.addTask {
                    while !isOver.value {
                        for owner in registry.owners { owner.fold() }
                        await Task.yield()
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { senders in
                    for sender in 0..<6 {
                        senders.addTask {
                            for number in 0..<100 {
                                let room = rooms[number % 3]
                                let event = joined(room, "u\(sender)-\(number)", "\(sender)-\(number)")
                                let outcome = try await registry.owner(room).receive(event, at: 0)
                                #expect(outcome == .accepted)
                            }
                        }
                    }
                    try await senders.waitForAll()
                }
                isOver.value = true
                try await group.waitForAll()
            }
        }
        let people = try await store.rooms().map { $0.document.participants.count }
        #expect(people == [204, 198, 198])
    }

    /// An owner that is still referenced forwards the requests that it no longer handles.
    @Test func anOldHandleReachesTheRoom() async throws {
        let store = MemoryTaskStore()
        try await withRegistry(store) { registry in
            let old = try await registry.owner("r")
            _ = try await old.receive(joined("r", "alice", "1"), at: 0)
            try await eventually {
                await registry.sweep()
                return registry.ownerCount == 0 ? true : nil
            }
            #expect(try await old.receive(joined("r", "bob", "2"), at: 0) == .accepted)
            #expect(try await old.receive(joined("r", "bob", "2"), at: 0) == .duplicate)
            let new = try await registry.owner("r")
            #expect(new !== old)
            #expect(await new.snapshot.room.document.participants.count == 2)
            #expect(try await store.room("r")?.version == 2)
        }
    }

    @Test func listsHaveTheRoomsThatAreNotInMemory() async throws {
        let store = MemoryTaskStore()
        try await withRegistry(store, hasOutputs: false) { registry in
            for number in 0..<5 {
                let room = RoomID("r\(number)")
                _ = try await registry.owner(room).receive(joined(room, "alice", "1"), at: 0)
            }
            try await eventually {
                await registry.sweep()
                return registry.ownerCount == 0 ? true : nil
            }
            #expect(try await registry.snapshots(after: nil, limit: 3).map(\.id) == ["r0", "r1", "r2"])
            #expect(try await registry.snapshots(after: "r2", limit: 3).map(\.id) == ["r3", "r4"])
            #expect(try await registry.snapshot("r1")?.room.version == 1)
            #expect(try await registry.snapshot("r9") == nil)
            #expect(await registry.census().rooms == 5)
            #expect(registry.ownerCount == 0, "reading makes no owner")
        }
    }

    @Test func theServiceTakesNothingWhenItStops() async throws {
        let registry = try await withRegistry(MemoryTaskStore()) { $0 }
        await #expect(throws: OrchestratorError.stopping) { try await registry.owner("r") }
    }

    /// A room that is loaded too late would have no running owner, so that requests to it would never be answered.
    @Test func aRoomThatIsReadWhileTheServiceStopsIsNotTaken() async throws {
        let store = HeldStore()
        let asked = try await withRegistry(store) { registry in
            let asked = Task { try await registry.owner("r").receive(joined("r", "alice", "1"), at: 0) }
            await store.isAsked()
            return asked
        }
        store.release()
        await #expect(throws: OrchestratorError.stopping) { try await asked.value }
    }
}

/// A store that reads rooms slowly.
private final class HeldStore: ForwardingTaskStore {
    let base: any TaskStore = MemoryTaskStore()
    private let (questions, question) = AsyncStream.makeStream(of: Void.self)
    private let (answers, answer) = AsyncStream.makeStream(of: Void.self)

    /// Returns when a room is requested.
    func isAsked() async { for await _ in questions { return } }
    func release() { answer.finish() }

    func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? {
        question.yield()
        for await _ in answers {}
        return try await base.room(id)
    }
}

/// Records which rooms were read.
private final class LoadCounter: ForwardingTaskStore {
    let base: any TaskStore
    let rooms = LockedBox<[RoomID]>([])

    init(base: any TaskStore) { self.base = base }

    func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? {
        rooms.value.append(id)
        return try await base.room(id)
    }
}

/// Keeps all owners, so that no address is used twice.
private final class SeenOwners: Sendable {
    private let owners = Mutex<[ObjectIdentifier: RoomOwner]>([:])
    func add(_ owner: RoomOwner) { owners.withLock { $0[ObjectIdentifier(owner)] = owner } }
    var count: Int { owners.withLock { $0.count } }
}

private func joined(_ room: RoomID, _ user: String, _ id: String) -> RoomEvent {
    RoomEvent(
        room: room, source: "s", id: "\(room) \(id)", kind: .participantJoined(user: UserID(user), role: nil, name: nil)
    )
}

private func published(_ room: RoomID, _ user: String, _ id: String) -> RoomEvent {
    let publication = Publication(user: UserID(user), url: "rtmp://127.0.0.1/live/\(user)")
    return RoomEvent(room: room, source: "s", id: "\(room) \(id)", kind: .streamPublished(publication))
}

/// Runs a registry for the length of `body`.
func withRegistry<Value: Sendable>(
    _ store: any TaskStore, relays: any RelayStarting = ScriptedRelays(), in directory: String = "/tmp/mo-none",
    hasOutputs: Bool = false, cluster: ClusterNode? = nil, log: LogRecorder = LogRecorder(),
    _ body: @escaping @Sendable (RoomRegistry) async throws -> Value
) async throws -> Value {
    let outputs = [PushDestination(id: "main", url: "rtmp://127.0.0.1/out/{room}")]
    let services = RoomServices(
        store: store, sockets: try RelaySockets(directory: directory + "/relays"), starter: relays, layouts: Layouts(),
        metrics: Metrics(), logger: log.logger, defaultOutputs: hasOutputs ? outputs : [], defaultLayout: "auto",
        defaultCanvas: RoomCanvas(.portrait), homes: cluster, relayDeadline: cluster?.relayDeadline)
    let registry = RoomRegistry(services: services, keepsRelays: true)
    cluster?.attach(registry)
    try await registry.restore()
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await registry.run() }
        if let cluster { group.addTask { try await cluster.run() } }
        let value = try await body(registry)
        group.cancelAll()
        try await group.waitForAll()
        return value
    }
}
