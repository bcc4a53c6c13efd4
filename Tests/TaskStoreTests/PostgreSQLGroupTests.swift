import Foundation
import MixModel
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// Many changes share one transaction, and every queue is limited.
@Suite(needsPostgreSQL) struct PostgreSQLGroupTests {
    @Test func concurrentChangesShareTransactions() async throws {
        try await withSchema { server, schema in
            let groups = Mutex<[GroupCommit]>([])
            let store = try PostgreSQLTaskStore(target(server, schema)) { group in
                groups.withLock { $0.append(group) }
            }
            try await store.expectSharedTransactions(of: PostgreSQLWriter.groupSize) { groups.withLock { $0 } }
        }
    }

    @Test func aQueueThatIsFullSaysSo() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            try await store.expectFullQueue(of: PostgreSQLWriter.queueSize)
        }
    }

    @Test func readersThatAreBusyHaveAnEndToo() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let (gate, isHeld, refused) = (DispatchSemaphore(value: 0), Tally(), Tally())
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<ReadPool.size {
                    group.addTask {
                        try await store.read { _ in
                            isHeld.increase()
                            gate.wait()
                        }
                    }
                }
                while isHeld.value < ReadPool.size { try await Task.sleep(for: .milliseconds(1)) }
                for _ in 0..<ReadPool.queueSize + 20 {
                    group.addTask {
                        do throws(StoreError) { _ = try await store.room("demo") } catch {
                            #expect(error == .overloaded)
                            refused.increase()
                        }
                    }
                }
                while refused.value < 20 { try await Task.sleep(for: .milliseconds(1)) }
                for _ in 0..<ReadPool.size { gate.signal() }
                try await group.waitForAll()
            }
            #expect(refused.value == 20)
            await store.close()
        }
    }

    /// A write that the engine refuses fails alone.
    @Test func oneBadWriteDoesNotFailItsGroup() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let writer = try await HeldWriter(of: store)
            async let good = store.commit(StoreChange(event: event("1")))
            async let bad: Void = store.write { connection, _ in
                try connection.execute(
                    "INSERT INTO rooms (id, version, document, live) VALUES ('half', 1, '{}', 0)")
                try connection.execute("INSERT INTO no_table VALUES (1)")
            }
            // An index entry must be smaller than 2.7 KB.
            let long = RoomEvent(
                room: "demo", source: "app", id: Self.incompressible(9000), sequence: 1, time: 1, kind: event("0").kind)
            let change = StoreChange(event: long, room: .put(Room(id: "long"), expected: 0))
            async let tooLong = outcome(of: change, in: store)
            async let alsoGood = store.commit(StoreChange(event: event("2")))
            while store.waiting < 4 { try await Task.sleep(for: .milliseconds(1)) }
            writer.release()
            #expect(try await good == .committed)
            #expect(try await alsoGood == .committed)
            let refusal = await tooLong
            #expect(throws: StoreError.self) { try refusal.get() }
            do {
                try await bad
                Issue.record("the engine took it")
            } catch {
                #expect((error as? StoreError)?.description.contains("no_table") == true)
            }
            #expect(try await store.rooms().isEmpty)
            #expect(try await store.events(of: "demo", limit: 9).count == 2)
            await store.close()
        }
    }

    private static func incompressible(_ length: Int) -> String {
        var generator = SeededGenerator(seed: 7)
        return String((0..<length).map { _ in Character(UnicodeScalar(UInt8.random(in: 48...122, using: &generator))) })
    }

    @Test func aTextThatCannotBeStoredIsRefusedAlone() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let writer = try await HeldWriter(of: store)
            async let bad = outcome(of: StoreChange(event: event("a\u{0}b")), in: store)
            async let good = store.commit(StoreChange(event: event("a")))
            while store.waiting < 1 { try await Task.sleep(for: .milliseconds(1)) }
            writer.release()
            let refusal = await bad
            guard case .failure(let error) = refusal else {
                Issue.record("\(refusal)")
                return
            }
            #expect(error.description.contains("NUL"))
            #expect(try await good == .committed)
            await #expect(throws: StoreError.self) { try await store.room("a\u{0}b") }
            await store.close()
        }
    }

    @Test func textsThatLookLikeSyntaxComeBackAsTheyWere() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let texts = [
                "{", "}", "{}", "NULL", "null", "\"", "\\", "\\x00", "a,b", "'; DROP TABLE rooms; --", "$1", " ", "\n",
                "\u{301}", "\u{10FFFF}", "😀", "conflict:", "\u{202E}", "%s",
            ]
            for text in texts {
                let entry = StampedEntry(at: 0, entry: TimelineEntry(kind: .event, message: text))
                let task = TaskMachine(id: TaskID(text), room: RoomID(text))
                let change = StoreChange(
                    event: event(text, room: RoomID(text)), room: .put(Room(id: RoomID(text)), expected: 0),
                    tasks: [
                        .init(id: task.id, write: .put(task, expected: 0), timeline: [entry, entry])
                    ])
                #expect(try await store.commit(change) == .committed, "\(text)")
                #expect(try await store.commit(change) == .duplicate, "\(text)")
                #expect(try await store.timeline(of: TaskID(text), limit: 9) == [entry, entry], "\(text)")
                let late = StoreChange(tasks: [.init(id: TaskID(text), write: .delete(id: text, expected: 7))])
                let result = await outcome(of: late, in: store)
                #expect(result == .failure(.conflict(document: text)))
                let fence = Fence(owner: "n#1", epoch: 1)
                let fenced = await outcome(
                    of: StoreChange(require: [.init(task: TaskID(text), fence: fence)]), in: store)
                #expect(fenced == .failure(.fenced("task \(text)")))
            }
            #expect(try await store.rooms().map(\.document.id) == texts.map { RoomID($0) }.sorted())
            await store.close()
        }
    }

    /// All waiting changes are stored before the store is closed.
    @Test func closingLosesNothing() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let writer = try await HeldWriter(of: store)
            async let committed = store.commit(StoreChange(event: event("1")))
            while store.waiting < 1 { try await Task.sleep(for: .milliseconds(1)) }
            async let closed: Void = store.close()
            writer.release()
            #expect(try await committed == .committed)
            await closed
            let again = try PostgreSQLTaskStore(target(server, schema))
            #expect(try await again.events(of: "demo", limit: 9).count == 1)
            await again.close()
        }
    }

    @Test(arguments: [
        "document = '{\"half'", "document = '[]'", "document = ''", "version = 9223372036854775807", "version = -3",
    ])
    func aDocumentThatCannotBeReadIsSetAside(_ damage: String) async throws {
        try await withSchema { server, schema in
            let told = Mutex<[UnreadableRow]>([])
            let store = try PostgreSQLTaskStore(
                target(server, schema), onUnreadable: { row in told.withLock { $0.append(row) } })
            for name in ["a", "b", "c"] {
                let (room, task) = (RoomID(name), TaskID("auto-\(name)"))
                let write = StoreChange.Write.put(TaskMachine(id: task, room: room), expected: 0)
                _ = try await store.commit(
                    StoreChange(room: .put(Room(id: room), expected: 0), tasks: [.init(id: task, write: write)]))
            }
            try server.sql("UPDATE \(schema).rooms SET \(damage) WHERE id = 'a'", database: "mix")
            try server.sql("UPDATE \(schema).tasks SET \(damage) WHERE id = 'auto-b'", database: "mix")
            #expect(try await store.rooms().map(\.document.id) == ["b", "c"])
            #expect(try await store.tasks().map(\.document.id) == ["auto-a", "auto-c"])
            #expect(told.withLock { $0.map(\.id).sorted() } == ["a", "auto-b"])
            #expect(told.withLock { $0.allSatisfy(\.isSetAside) })
            _ = try await store.commit(StoreChange(room: .put(Room(id: "a"), expected: 0)))
            #expect(try await store.room("a")?.version == 1)
            #expect(try server.sql("SELECT count(*) FROM \(schema).set_aside", database: "mix") == "2")
            await store.close()
        }
    }
}
