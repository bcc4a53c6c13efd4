import EncodedMedia
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Identifiers of tasks in a cluster, whose nodes do not tell each other of their tasks.
@Suite(.timeLimit(.minutes(2))) struct ClusterTaskTests {
    private static let settings = RoomSettings(outputs: [PushDestination(id: "own", url: "rtmp://127.0.0.1/own")])

    /// A task of another node's room.
    private static func stored(_ id: TaskID) -> StoreChange {
        let task = TaskMachine(id: id, room: "far", settings: settings, version: 1)
        return StoreChange(tasks: [StoreChange.TaskChange(id: id, write: .put(task, expected: 0))])
    }

    @Test func anIdentifierIsFreeOnceItsTaskHasEndedAtAnotherNode() async throws {
        let store = MemoryTaskStore()
        _ = try await store.commit(Self.stored("t"))
        try await withQuietNode(store) { _, registry in
            #expect(registry.services.taskIndex.room(of: "t") == "far")
            let end = StoreChange.TaskChange(id: "t", write: .delete(id: "t", expected: 1))
            _ = try await store.commit(StoreChange(tasks: [end]))
            let new = NewTask(id: "t", settings: Self.settings)
            #expect(try await registry.owner("near").make(new, at: MonotonicClock.now()) == .made)
            #expect(registry.services.taskIndex.room(of: "t") == "near")
        }
    }

    @Test func tasksThatHaveEndedAtAnotherNodeAreForgotten() async throws {
        let store = MemoryTaskStore()
        for id in ["t", "u"] as [TaskID] { _ = try await store.commit(Self.stored(id)) }
        try await withQuietNode(store) { _, registry in
            let tasks = registry.services.taskIndex
            #expect(tasks.tasks(of: .standard) == ["t", "u"])
            let end = StoreChange.TaskChange(id: "t", write: .delete(id: "t", expected: 1))
            _ = try await store.commit(StoreChange(tasks: [end]))
            await registry.forgetEndedTasks()
            #expect(tasks.tasks(of: .standard) == ["u"])
        }
    }

    @Test func anIdentifierIsTakenOnceAnotherNodeHasMadeItsTask() async throws {
        let store = MemoryTaskStore()
        try await withQuietNode(store) { _, registry in
            _ = try await store.commit(Self.stored("t"))
            let new = NewTask(id: "t", settings: Self.settings)
            let error = await #expect(throws: OrchestratorError.self) {
                try await registry.owner("near").make(new, at: MonotonicClock.now())
            }
            #expect(error?.code == "task-exists")
            #expect(registry.services.taskIndex.room(of: "t") == "far")
        }
    }
}
