import LayoutEngine
import MixModel
import Testing

@testable import TaskStore

/// Finding what is live among much that is not.
@Suite struct RoomQueriesConformance {
    private func room(_ id: RoomID, isLive: Bool = false, layout: String? = nil) -> Room {
        var room = Room(id: id, settings: RoomSettings(layout: layout))
        if isLive { _ = RoomMachine.apply(event("1", room: id), to: &room) }
        return room
    }

    private func activeTask(_ id: TaskID, of room: Room) -> TaskMachine {
        var task = TaskMachine(id: id, room: room.id)
        let context = PlanningContext(
            template: LayoutTemplate(name: "t", arrangements: [Arrangement(placement: .grid(tileAspect: nil))]),
            defaultOutputs: [PlannedOutput(id: "main", url: "rtmp://127.0.0.1/out")], defaultCanvas: .portrait)
        _ = task.roomChanged(
            room, context: context, cause: Cause(receivedAt: 0, summary: "test"), urgency: .immediate, now: 0)
        return task
    }

    @Test(arguments: StoreUnderTest.all)
    func whatIsLiveIsFound(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for (id, isLive) in [("a", false), ("b", true), ("c", false), ("d", true)] as [(RoomID, Bool)] {
                let room = room(id, isLive: isLive)
                var change = StoreChange(room: .put(room, expected: 0))
                if id != "a" {
                    let automatic = TaskID.automatic(for: id)
                    let task = isLive ? activeTask(automatic, of: room) : TaskMachine(id: automatic, room: id)
                    change.tasks = [.init(id: automatic, write: .put(task, expected: 0))]
                }
                _ = try await store.commit(change)
            }
            #expect(try await store.liveRooms() == ["b", "d"])
            #expect(try await store.activeTasks().map(\.document.id) == ["auto-b", "auto-d"])
            #expect(try await store.tasks(of: "c").map(\.document.id) == ["auto-c"])
            #expect(try await store.tasks(of: "a").isEmpty)
            #expect(try await store.counts() == (4, 3))
            #expect(try await store.rooms(after: nil, limit: 2).map(\.document.id) == ["a", "b"])
            #expect(try await store.rooms(after: "b", limit: 9).map(\.document.id) == ["c", "d"])
            #expect(try await store.roomsWithTasks(after: nil, limit: 2) == ["b", "c"])
            #expect(try await store.roomsWithTasks(after: "c", limit: 2) == ["d"])
            #expect(try await store.roomsOfTasks() == ["auto-b": "b", "auto-c": "c", "auto-d": "d"])

            // Written again, they are what they are now.
            let live = try #require(try await store.room("b"))
            let task = try #require(try await store.task("auto-b"))
            let other = StoreChange(
                room: .put(room("b"), expected: live.version),
                tasks: [
                    .init(
                        id: "auto-b",
                        write: .put(TaskMachine(id: "auto-b", room: "b"), expected: task.version))
                ])
            _ = try await store.commit(other)
            #expect(try await store.liveRooms() == ["d"])
            #expect(try await store.activeTasks().map(\.document.id) == ["auto-d"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func roomsAreFoundByTheLayoutThatTheyName(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for (id, layout) in [("a", "grid"), ("b", nil), ("c", "grid"), ("d", "stage")] as [(RoomID, String?)] {
                _ = try await store.commit(StoreChange(room: .put(room(id, layout: layout), expected: 0)))
            }
            #expect(try await store.roomsNamingLayouts() == ["grid": ["a", "c"], "stage": ["d"]])
            _ = try await store.commit(StoreChange(room: .put(room("a"), expected: 1)))
            _ = try await store.commit(StoreChange(room: .delete(id: "d", expected: 1)))
            #expect(try await store.roomsNamingLayouts() == ["grid": ["c"]])
            await store.close()
        }
    }
}
