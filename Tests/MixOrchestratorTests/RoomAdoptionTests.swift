import MixModel
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Rooms of a node of a cluster that cannot be read at once.
@Suite(.timeLimit(.minutes(2))) struct RoomAdoptionTests {
    private final class UnreadableStore: ForwardingTaskStore {
        let base: any TaskStore = MemoryTaskStore()
        let unreadable = LockedBox<Set<RoomID>>([])
        /// Rooms that were read.
        let read = LockedBox<Set<RoomID>>([])

        func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? {
            guard !unreadable.value.contains(id) else { throw .engine("disk I/O error") }
            read.update { _ = $0.insert(id) }
            return try await base.room(id)
        }
    }

    private static func unadopted(_ registry: RoomRegistry) -> Set<RoomID> { registry.state.withLock { $0.unadopted } }

    @Test func aRoomThatCouldNotBeReadWhenItWasTakenIsContinuedLater() async throws {
        let store = UnreadableStore()
        _ = try await store.commit(StoreChange(room: .put(Room(id: "demo"), expected: 0)))
        store.unreadable.value = ["demo"]
        try await withQuietNode(store) { node, registry in
            try await node.enter("demo")
            await registry.adopt("demo")
            #expect(Self.unadopted(registry) == ["demo"] && store.read.value.isEmpty)
            store.unreadable.value = []
            await registry.adoptRemaining()
            #expect(Self.unadopted(registry).isEmpty && store.read.value == ["demo"])
        }
    }

    @Test func aStartRestoresTheRoomsAfterOneThatCannotBeRead() async throws {
        let store = UnreadableStore()
        store.unreadable.value = ["a"]
        try await withQuietNode(store) { node, registry in
            for room in ["a", "b"] as [RoomID] { try await node.enter(room) }
            await registry.restoreLiveRooms()
            #expect(Self.unadopted(registry) == ["a"] && store.read.value == ["b"])
        }
    }

    @Test func aRoomThatWasLostMeanwhileIsNotContinued() async throws {
        let store = UnreadableStore()
        store.unreadable.value = ["demo"]
        try await withQuietNode(store) { _, registry in
            await registry.adopt("demo")
            await registry.adoptRemaining()
            #expect(Self.unadopted(registry).isEmpty)
        }
    }
}
