import LayoutEngine
import MixModel
import Testing

@testable import TaskStore

/// The search for live rooms among many others.
@Suite struct RoomQueriesConformance {
    private func room(_ id: RoomID, isLive: Bool = false, layout: String? = nil) -> Room {
        var room = Room(id: id, settings: RoomSettings(layout: layout))
        if isLive { _ = RoomMachine.apply(event("1", room: id), to: &room) }
        return room
    }

    private func activeTask(_ id: TaskID, of room: Room) -> TaskMachine {
        var task = TaskMachine(id: id, room: room.id)
        let context = PlanningContext(
            template: LayoutTemplate(
                name: "t", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]),
            defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")],
            defaultCanvas: RoomCanvas(.portrait))
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
            func publishing() async throws -> [RoomID] {
                try await store.rooms(of: .liveByDefault, after: 0, limit: 9).map(\.room.id)
            }
            #expect(try await publishing() == ["b", "d"])
            let first = try await store.rooms(of: .liveByDefault, after: 0, limit: 1)
            let next = try await store.rooms(of: .liveByDefault, after: try #require(first.last).number, limit: 9)
            #expect((first + next).map(\.room.id) == ["b", "d"])
            #expect(try await store.rooms(of: .live, after: 0, limit: 9).isEmpty)
            #expect(try await store.activeTasks().map(\.document.id) == ["auto-b", "auto-d"])
            #expect(try await store.tasks(of: "c").map(\.document.id) == ["auto-c"])
            #expect(try await store.tasks(of: "a").isEmpty)
            #expect(try await store.counts() == (4, 3))
            #expect(try await store.rooms(after: nil, limit: 2).map(\.document.id) == ["a", "b"])
            #expect(try await store.rooms(after: "b", limit: 9).map(\.document.id) == ["c", "d"])
            #expect(try await store.roomsWithTasks(after: nil, limit: 2) == ["b", "c"])
            #expect(try await store.roomsWithTasks(after: "c", limit: 2) == ["d"])
            #expect(try await store.roomsOfTasks() == ["auto-b": "b", "auto-c": "c", "auto-d": "d"])

            // After another write, the rooms are listed by their current state.
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
            #expect(try await publishing() == ["d"])
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
            for id in ["b/x", "b/y", "c/x"] as [RoomID] {
                _ = try await store.commit(StoreChange(room: .put(room(id, layout: "grid"), expected: 0)))
            }
            func naming(_ layout: String, _ app: AppID?, limit: Int = 9) async throws -> [RoomID] {
                try await store.rooms(naming: layout, of: app, limit: limit)
            }
            #expect(try await naming("grid", nil) == ["a", "b/x", "b/y", "c", "c/x"])
            #expect(try await naming("grid", .standard) == ["a", "c"])
            #expect(try await naming("grid", "b") == ["b/x", "b/y"])
            #expect(try await naming("grid", "b", limit: 1) == ["b/x"])
            #expect(try await naming("stage", nil) == ["d"])
            _ = try await store.commit(StoreChange(room: .put(room("a"), expected: 1)))
            _ = try await store.commit(StoreChange(room: .delete(id: "d", expected: 1)))
            #expect(try await naming("grid", .standard) == ["c"])
            #expect(try await naming("stage", nil) == [])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func whatEachAppHasIsCounted(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            #expect(try await store.usage().isEmpty)
            for id in ["a", "shop/a", "b", "shop/b", "shop/c", "zoo/a"] as [RoomID] {
                _ = try await store.commit(StoreChange(room: .put(room(id, isLive: true), expected: 0)))
            }
            _ = try await store.commit(StoreChange(room: .delete(id: "shop/b", expected: 1)))
            let usage = try await store.usage()
            #expect(usage.mapValues(\.rooms) == [.standard: 2, "shop": 2, "zoo": 1])
            // The usage counted while the service runs is close to the stored size.
            for (app, used) in usage {
                let weight = try await store.rooms().map(\.document).filter { $0.id.app == app }.reduce(0) {
                    $0 + $1.weight
                }
                #expect(Double(abs(used.bytes - weight)) < Double(weight) * 0.3, "\(used.bytes) and \(weight)")
            }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func roomsAreToldApartByWhatAStartHasToDoForThem(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let output = [PushDestination(id: "main", url: "rtmp://127.0.0.1/out")]
            let rooms: [(id: RoomID, isLive: Bool, settings: RoomSettings, life: RoomLife)] = [
                ("quiet", false, RoomSettings(), .dormant), ("default", true, RoomSettings(), .liveByDefault),
                ("own", true, RoomSettings(outputs: output), .live),
                ("nowhere", true, RoomSettings(outputs: []), .dormant),
                ("recorded", true, RoomSettings(outputs: [], recording: RecordingSettings()), .live),
                ("ready", false, RoomSettings(outputs: output), .settled),
            ]
            for (id, isLive, settings, _) in rooms {
                var room = room(id, isLive: isLive)
                room.settings = settings
                _ = try await store.commit(StoreChange(room: .put(room, expected: 0)))
            }
            for life in RoomLife.allCases {
                let found = try await store.rooms(of: life, after: 0, limit: 99).map(\.room.id).sorted()
                #expect(found == rooms.filter { $0.life == life }.map(\.id).sorted(), "\(life)")
            }
            await store.close()
        }
    }
}
