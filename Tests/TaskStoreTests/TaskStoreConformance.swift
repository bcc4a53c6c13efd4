import MixModel
import Testing

@testable import TaskStore

/// The behaviour of every store. A new implementation joins `StoreUnderTest.all`.
@Suite struct TaskStoreConformance {
    private func room(_ id: RoomID, host: UserID? = nil) -> Room { Room(id: id, settings: RoomSettings(host: host)) }

    @Test(arguments: StoreUnderTest.all)
    func documentsComeBackAsTheyWere(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            var room = room("demo", host: "alice")
            _ = RoomMachine.apply(event("1"), to: &room)
            let task = TaskMachine(id: "auto-demo", room: "demo")
            let change = StoreChange(
                room: .put(room, expected: 0), tasks: [.init(id: task.id, write: .put(task, expected: 0))])
            #expect(try await store.commit(change) == .committed)
            #expect(try await store.room("demo") == Versioned(room, version: 1))
            #expect(try await store.task("auto-demo") == Versioned(task, version: 1))
            #expect(try await store.rooms().count == 1)
            #expect(try await store.tasks().count == 1)
            #expect(try await store.room("other") == nil)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aWriteThatLostARaceIsRefusedWhole(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(room: .put(room("demo"), expected: 0)))
            _ = try await store.commit(StoreChange(room: .put(room("demo", host: "alice"), expected: 1)))
            for expected in [0, 1, 3] {
                let late = StoreChange(
                    event: event("late"), room: .put(room("demo", host: "bob"), expected: expected),
                    tasks: [
                        .init(id: "auto-demo", write: .put(TaskMachine(id: "auto-demo", room: "demo"), expected: 0))
                    ])
                await #expect(throws: StoreError.conflict(document: "demo")) { try await store.commit(late) }
            }
            #expect(try await store.room("demo")?.document.settings.host == "alice")
            #expect(try await store.room("demo")?.version == 2)
            #expect(try await store.task("auto-demo") == nil)
            #expect(try await store.events(of: "demo", limit: 10).isEmpty)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aDuplicateStoresNothing(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            #expect(try await store.commit(StoreChange(event: event("1"))) == .committed)
            let again = StoreChange(event: event("1"), room: .put(room("demo"), expected: 0))
            #expect(try await store.commit(again) == .duplicate)
            #expect(try await store.room("demo") == nil)
            // The same id from another sender is another event.
            #expect(try await store.commit(StoreChange(event: event("1", source: "other"))) == .committed)
            #expect(try await store.events(of: "demo", limit: 10) == [event("1"), event("1", source: "other")])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func anEventOfOneAppIsNoDuplicateInAnother(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let rooms = [RoomID("demo"), RoomID(app: "shop", name: "demo"), RoomID(app: "club", name: "demo")]
            for room in rooms {
                #expect(try await store.commit(StoreChange(event: event("1", room: room))) == .committed, "\(room)")
            }
            for room in rooms {
                #expect(try await store.commit(StoreChange(event: event("1", room: room))) == .duplicate, "\(room)")
                #expect(try await store.events(of: room, limit: 10) == [event("1", room: room)])
            }
            // Within an app it is one event, whatever room it names.
            let elsewhere = event("1", room: RoomID(app: "shop", name: "other"))
            #expect(try await store.commit(StoreChange(event: elsewhere)) == .duplicate)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func documentsAreDeletedAtTheirVersionOnly(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(room: .put(room("demo"), expected: 0)))
            await #expect(throws: StoreError.self) {
                try await store.commit(StoreChange(room: .delete(id: "demo", expected: 2)))
            }
            _ = try await store.commit(StoreChange(room: .delete(id: "demo", expected: 1)))
            #expect(try await store.room("demo") == nil)
            _ = try await store.commit(StoreChange(room: .put(room("demo"), expected: 0)))
            #expect(try await store.room("demo")?.version == 1)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func theTimelineIsNewestFirst(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for number in 0..<5 {
                let entry = StampedEntry(at: Double(number), entry: TimelineEntry(kind: .relay, message: "\(number)"))
                let record = SwitchRecord(
                    at: .seconds(Double(number)), from: .bypass, to: .mix, source: nil, cause: "c",
                    latencyMs: 1, videoGapMs: 50, audioGapMs: nil, wallClock: 2)
                _ = try await store.commit(
                    StoreChange(tasks: [.init(id: "auto-demo", timeline: [entry], switches: [record])]))
            }
            #expect(try await store.timeline(of: "auto-demo", limit: 3).map(\.entry.message) == ["4", "3", "2"])
            #expect(try await store.timeline(of: "auto-other", limit: 3).isEmpty)
            #expect(try await store.switches(of: "auto-demo", limit: 1).map(\.at) == [.seconds(4)])
            await store.close()
        }
    }

    private func version(_ number: Int, of layout: String = "grid") -> NewLayoutVersion {
        NewLayoutVersion(
            layout: layout, number: number, at: Double(number), origin: .api,
            content: Array("\(layout) \(number) \u{0}ü".utf8))
    }

    @Test(arguments: StoreUnderTest.all)
    func versionsOfLayoutsComeBackAsTheyWere(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for new in [version(1), version(2), version(1, of: "solo"), version(7)] {
                #expect(try await store.commit(StoreChange(layoutVersion: new)) == .committed)
            }
            #expect(
                try await store.layoutVersions(of: "grid", limit: 2) == [version(7).version, version(2).version])
            #expect(
                try await store.newestLayoutVersions() == [version(7).version, version(1, of: "solo").version])
            #expect(try await store.layoutContent(of: "grid", version: 2) == version(2).content)
            #expect(try await store.layoutContent(of: "grid", version: 3) == nil)
            #expect(try await store.layoutContent(of: "none", version: 1) == nil)
            #expect(try await store.layoutVersions(of: "none", limit: 9).isEmpty)
            let deletion = NewLayoutVersion(deletionOf: "solo", number: 2, at: 3.25)
            #expect(try await store.commit(StoreChange(layoutVersion: deletion)) == .committed)
            #expect(try await store.newestLayoutVersions() == [version(7).version, deletion.version])
            #expect(try await store.layoutContent(of: "solo", version: 2) == deletion.content)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aVersionThatIsNotNewerIsRefusedWhole(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(layoutVersion: version(2)))
            for number in [1, 2] {
                let late = StoreChange(room: .put(room("demo"), expected: 0), layoutVersion: version(number))
                await #expect(throws: StoreError.conflict(document: "layout grid")) { try await store.commit(late) }
            }
            #expect(try await store.room("demo") == nil)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func theNewestHundredVersionsAreKept(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(layoutVersion: version(1, of: "solo")))
            for number in 1...103 { _ = try await store.commit(StoreChange(layoutVersion: version(number))) }
            let kept = try await store.layoutVersions(of: "grid", limit: 1000).map(\.number)
            #expect(kept == (4...103).reversed())
            #expect(try await store.layoutContent(of: "grid", version: 3) == nil)
            #expect(try await store.layoutContent(of: "grid", version: 4) != nil)
            #expect(try await store.layoutVersions(of: "solo", limit: 9).count == 1)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func eventsOfLayoutsAreNewestFirst(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let events = LayoutEvent.Kind.allCases.enumerated().map { number, kind in
                LayoutEvent(
                    layout: "grid", at: Double(number), kind: kind, version: number == 0 ? nil : number,
                    message: "one\ntwo")
            }
            for event in events { _ = try await store.commit(StoreChange(layoutEvent: event)) }
            #expect(try await store.layoutEvents(of: "grid", limit: 2) == Array(events.reversed().prefix(2)))
            #expect(try await store.layoutEvents(of: "solo", limit: 2).isEmpty)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func manyWritersLoseNothing(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        let id = RoomID("room\(writer)")
                        for number in 0..<25 {
                            let change = StoreChange(
                                event: event("\(number)", room: id, source: "\(writer)"),
                                room: .put(Room(id: id), expected: number))
                            let result = try await store.commit(change)
                            #expect(result == .committed)
                        }
                    }
                }
                try await group.waitForAll()
            }
            for room in try await store.rooms() {
                #expect(room.version == 25)
                #expect(try await store.events(of: room.document.id, limit: 100).map(\.id) == (0..<25).map(String.init))
            }
            await store.close()
        }
    }

    /// Many concurrent commits, some of which repeat an event or lost a race. Each gets its own outcome, in whatever
    /// groups they are committed.
    @Test(arguments: StoreUnderTest.all)
    func whatIsRefusedLeavesTheOthersOfItsGroup(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(event: event("known"), room: .put(room("taken"), expected: 0)))
            let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
            _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let task = TaskMachine(id: TaskID("auto-\(number)"), room: RoomID("room\(number)"))
                        var change = StoreChange(
                            event: event("e\(number)"), room: .put(Room(id: RoomID("room\(number)")), expected: 0),
                            tasks: [.init(id: task.id, write: .put(task, expected: 0))],
                            outbox: [
                                OutboxMessage(
                                    id: "m\(number)", subscription: "s", lane: "m\(number)", topic: .test, body: [])
                            ])
                        let expected: Result<CommitResult, StoreError>
                        switch number % 5 {
                        case 0:
                            change.event = event("known")
                            expected = .success(.duplicate)
                        case 1:
                            change.tasks[0].write = .put(task, expected: 3)
                            expected = .failure(.conflict(document: "auto-\(number)"))
                        case 2:
                            change.room = .put(Room(id: "taken"), expected: 0)
                            expected = .failure(.conflict(document: "taken"))
                        default:
                            expected = .success(.committed)
                        }
                        let result = await outcome(of: change, in: store)
                        #expect(result == expected)
                    }
                }
            }
            let good = (0..<300).filter { $0 % 5 >= 3 }
            #expect(try await store.rooms().count == good.count + 1)
            #expect(Set(try await store.tasks().map(\.document.id)) == Set(good.map { TaskID("auto-\($0)") }))
            #expect(
                Set(try await store.events(of: "demo", limit: 1000).map(\.id)) == Set(good.map { "e\($0)" } + ["known"])
            )
            #expect(
                Set(try await store.takeMessages(of: "s", limit: 1000, lease: .seconds(1)).items.map(\.message.id))
                    == Set(good.map { "m\($0)" }))
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aChangeThatWasCommittedTwiceIsThereOnce(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
            _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
            let change = StoreChange(
                event: event("1"), room: .put(room("demo"), expected: 0),
                outbox: [OutboxMessage(id: "m", subscription: "s", lane: "", topic: .test, body: [1])])
            try await withThrowingTaskGroup(of: CommitResult.self) { group in
                for _ in 0..<20 { group.addTask { try await store.commit(change) } }
                let results = try await group.reduce(into: []) { $0.append($1) }
                #expect(results.count { $0 == .committed } == 1)
            }
            #expect(try await store.room("demo")?.version == 1)
            #expect(try await store.takeMessages(of: "s", limit: 9, lease: .seconds(1)).items.count == 1)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aStoreThatWorksPassesItsCheck(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            try await store.check()
            try await store.check()
            await store.close()
            await #expect(throws: StoreError.self) { try await store.check() }
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aClosedStoreSaysSo(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            await store.close()
            await #expect(throws: StoreError.self) { try await store.commit(StoreChange(event: event("1"))) }
            await #expect(throws: StoreError.self) { try await store.rooms() }
        }
    }
}
