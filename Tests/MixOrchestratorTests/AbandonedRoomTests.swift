import EncodedMedia
import LayoutEngine
import MixModel
import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// What a node keeps of rooms that other nodes have taken over: nothing.
@Suite(.timeLimit(.minutes(2))) struct AbandonedRoomTests {
    /// Lets one change wait, and then refuses it as another node's.
    private final class WaitingStore: ForwardingTaskStore {
        let base: any TaskStore = MemoryTaskStore()
        private let waits = Mutex(false)
        private let (questions, question) = AsyncStream.makeStream(of: Void.self)
        private let (answers, answer) = AsyncStream.makeStream(of: Void.self)

        func letNextWait() { waits.withLock { $0 = true } }
        /// Returns when a change waits.
        func isAsked() async { for await _ in questions { return } }
        func refuse() { answer.finish() }

        func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
            let isWaiting = waits.withLock { waits in
                defer { waits = false }
                return waits
            }
            guard isWaiting else { return try await base.commit(change) }
            question.yield()
            for await _ in answers {}
            throw .fenced("the room demo")
        }
    }

    /// Starts relays that seem to run, although they were killed, until they are released.
    private final class SlowlyEnding: RelayStarting {
        let relays = ScriptedRelays()
        let isReleased = LockedFlag()

        func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
            Handle(relay: try relays.start(task: task, socket: socket), isReleased: isReleased)
        }

        func killLeftover(socket: String) {}
    }

    private struct Handle: RelayProcessHandle {
        let relay: any RelayProcessHandle
        let isReleased: LockedFlag

        var processID: Int32 { relay.processID }
        func exitDescription() -> String? { isReleased.value ? relay.exitDescription() : nil }
        func signal(_ number: Int32) { relay.signal(number) }
    }

    private static func publish(_ user: UserID, to owner: RoomOwner) async throws {
        let publication = Publication(user: user, url: "rtmp://127.0.0.1/live/\(user)")
        let event = RoomEvent(room: "demo", source: "s", id: "\(user)", kind: .streamPublished(publication))
        _ = try await owner.receive(event, at: MonotonicClock.now())
    }

    private static func isOnAir(_ owner: RoomOwner) async throws {
        try await eventually { await owner.snapshot.task("auto-demo")?.status?.onAir == .bypass ? true : nil }
    }

    @Test func aRoomThatIsLostWhileItIsStoredTakesNoCores() async throws {
        try await withDirectory { directory in
            let (store, relays) = (WaitingStore(), ScriptedRelays())
            defer { relays.tearDown() }
            try await withRegistry(store, relays: relays, in: directory, hasOutputs: true) { registry in
                let services = registry.services
                let owner = try await registry.owner("demo")
                try await Self.publish("alice", to: owner)
                try await Self.isOnAir(owner)
                #expect(services.load.figures.committedCores > 0)
                services.values.show(.viewers, in: "demo")
                store.letNextWait()
                let asked = Task { try await Self.publish("bob", to: owner) }
                await store.isAsked()
                await registry.abandon(["demo"])
                store.refuse()
                await #expect(throws: OrchestratorError.self) { try await asked.value }
                #expect(services.load.figures.committedCores == 0)
                #expect(services.quotas.busyRooms.isEmpty)
                #expect(services.destinations.hosts(with: ":1935/out/demo").isEmpty)
                #expect(services.values.rooms.isEmpty)
            }
        }
    }

    /// Publishers and other nodes try again if a room moves, but not if the store fails.
    @Test func aChangeOfARoomThatWasLostIsAnsweredAsOfOneThatMoves() async throws {
        let store = MemoryTaskStore()
        try await withQuietNode(store) { node, registry in
            let owner = try await registry.owner("demo")
            try await Self.publish("alice", to: owner)
            try await store.expel(node.id)
            let error = await #expect(throws: OrchestratorError.self) { try await Self.publish("bob", to: owner) }
            #expect(error?.code == "room-moving")
        }
    }

    /// A node that was expelled may get a room again while it still ends the room's former relays.
    @Test func aRoomThatIsBackKeepsItsCores() async throws {
        try await withDirectory { directory in
            let starter = SlowlyEnding()
            defer { starter.relays.tearDown() }
            try await withRegistry(MemoryTaskStore(), relays: starter, in: directory, hasOutputs: true) { registry in
                let services = registry.services
                let owner = try await registry.owner("demo")
                try await Self.publish("alice", to: owner)
                try await Self.isOnAir(owner)
                let end = Task { await registry.abandon(["demo"]) }
                try await eventually { registry.hasInMemory("demo") ? nil : true }
                try await eventually { starter.relays.running.isEmpty ? true : nil }
                let next = try await registry.owner("demo")
                try await Self.publish("bob", to: next)
                starter.isReleased.value = true
                await end.value
                #expect(services.load.figures.committedCores > 0)
                #expect(services.quotas.busyRooms == ["demo"])
                #expect(services.destinations.hosts(with: ":1935/out/demo") == ["127.0.0.1"])
            }
        }
    }
}

/// Runs the rooms of a node of a cluster that does nothing by itself.
func withQuietNode(
    _ store: any TaskStore, site: String? = nil,
    _ body: @escaping @Sendable (ClusterNode, RoomRegistry) async throws -> Void
) async throws {
    let log = LogRecorder()
    let node = try await ClusterNode.join(
        store, ClusterSettings(name: "a", url: "http://a"), identity: "a", site: site, keepsRelays: true,
        shutdown: ShutdownNotice(), logger: log.logger)
    let services = RoomServices(
        store: node, sockets: try RelaySockets(directory: "/tmp/mo-none/relays"), starter: ScriptedRelays(),
        layouts: Layouts(), metrics: Metrics(), logger: log.logger, defaultOutputs: [], defaultLayout: "auto",
        defaultCanvas: RoomCanvas(.portrait), homes: node)
    let registry = RoomRegistry(services: services, keepsRelays: true)
    try await registry.restore()
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await registry.run() }
        try await body(node, registry)
        group.cancelAll()
    }
}
