import Foundation
import GRDB
import MixModel
import TestSupport
import Testing

@testable import TaskStore

/// Damaged files lead to a clear refusal or a sound store, and never end the process.
@Suite(.timeLimit(.minutes(5))) struct CorruptStoreTests {
    private static let rooms = 120

    private func fill(_ store: SQLiteTaskStore) async throws {
        let subscription = Subscription(id: "sub", app: "default", kind: .own, url: "http://127.0.0.1/", createdAt: 1)
        _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
        for number in 0..<Self.rooms {
            let room = RoomID("room\(number)")
            let task = TaskID.automatic(for: room)
            _ = try await store.commit(
                StoreChange(
                    event: event("\(number)", room: room),
                    room: .put(
                        Room(id: room, settings: RoomSettings(layout: String(repeating: "x", count: 300))), expected: 0),
                    tasks: [
                        .init(
                            id: task, write: .put(TaskMachine(id: task, room: room), expected: 0),
                            timeline: [StampedEntry(at: 1, entry: TimelineEntry(kind: .event, message: "m"))])
                    ],
                    layoutEvent: LayoutEvent(layout: "l", at: 1, kind: .changed, version: 1, message: "m"),
                    outbox: [
                        OutboxMessage(
                            id: "\(number)", subscription: "sub", lane: "\(number % 9)", topic: .test, body: [1])
                    ]))
        }
        _ = try await store.register("local", for: .seconds(30))
    }

    /// Reads everything in a store and writes a little.
    ///
    /// - Returns: The errors that occurred.
    private func useAll(_ store: SQLiteTaskStore) async -> [StoreError] {
        var errors: [StoreError] = []
        func attempt(_ body: () async throws(StoreError) -> Void) async {
            do throws(StoreError) { try await body() } catch { errors.append(error) }
        }
        await attempt { () throws(StoreError) in _ = try await store.rooms() }
        await attempt { () throws(StoreError) in _ = try await store.tasks() }
        await attempt { () throws(StoreError) in _ = try await store.activeTasks() }
        await attempt { () throws(StoreError) in _ = try await store.roomsOfTasks() }
        for life in RoomLife.allCases {
            await attempt { () throws(StoreError) in _ = try await store.rooms(of: life, after: 0, limit: 999) }
        }
        await attempt { () throws(StoreError) in _ = try await store.usage() }
        await attempt { () throws(StoreError) in _ = try await store.roomsWithTasks(after: nil, limit: 999) }
        await attempt { () throws(StoreError) in _ = try await store.subscriptions() }
        await attempt { () throws(StoreError) in _ = try await store.newestLayoutVersions() }
        await attempt { () throws(StoreError) in _ = try await store.layoutEvents(of: "l", limit: 999) }
        await attempt { () throws(StoreError) in _ = try await store.events(of: "room7", limit: 9) }
        await attempt { () throws(StoreError) in _ = try await store.nodes() }
        await attempt { () throws(StoreError) in
            _ = try await store.deliveries(of: "sub", state: nil, lane: nil, before: nil, limit: 999)
        }
        await attempt { () throws(StoreError) in
            _ = try await store.takeMessages(of: "sub", limit: 99, lease: .seconds(1))
        }
        for number in stride(from: 0, to: Self.rooms, by: 7) {
            let room = RoomID("room\(number)")
            await attempt { () throws(StoreError) in
                let stored = try await store.room(room)
                _ = try await store.timeline(of: .automatic(for: room), limit: 9)
                _ = try await store.commit(
                    StoreChange(
                        event: event("new\(number)", room: room),
                        room: .put(Room(id: room), expected: stored?.version ?? 0)))
            }
        }
        await attempt { () throws(StoreError) in _ = try await store.removeExpired() }
        await attempt { () throws(StoreError) in try await store.check() }
        return errors
    }

    @Test func flippedBytesEndNothing() async throws {
        var generator = SeededGenerator(announcedFor: "flippedBytesEndNothing")
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let sound = try SQLiteTaskStore(path: path)
            try await fill(sound)
            await sound.close()
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            var refused = 0
            for round in 0..<60 {
                var damaged = bytes
                // Damages single bytes, or sometimes a whole stretch.
                for _ in 0..<Int.random(in: 1...60, using: &generator) {
                    let place = Int.random(in: 0..<damaged.count, using: &generator)
                    damaged[place] ^= UInt8.random(in: 1...255, using: &generator)
                }
                if round % 4 == 0 {
                    let start = Int.random(in: 0..<damaged.count, using: &generator)
                    for place in start..<min(start + 3000, damaged.count) { damaged[place] = 0xA5 }
                }
                let copy = "\(directory)/\(round).sqlite"
                try Data(damaged).write(to: URL(fileURLWithPath: copy))
                do throws(StoreError) {
                    let store = try SQLiteTaskStore(path: copy)
                    for error in await useAll(store) {
                        // The error names the file and the cure, or refuses this one change.
                        if case .conflict = error { continue }
                        refused += 1
                        #expect(error.description.contains(copy), "\(error)")
                    }
                    await store.close()
                } catch {
                    refused += 1
                    #expect(error.description.contains(copy), "\(error)")
                }
            }
            #expect(refused > 0)
        }
    }

    /// A log that is cut off keeps whole changes before the cut and none behind it.
    @Test func aLogThatIsCutOffKeepsWhatIsBeforeTheCut() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            try await fill(store)
            let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
            let file = try Data(contentsOf: URL(fileURLWithPath: path))
            await store.close()
            var last = Int.max
            for (index, part) in [1.0, 0.9, 0.5, 0.1, 0].enumerated() {
                let copy = "\(directory)/\(index).sqlite"
                try file.write(to: URL(fileURLWithPath: copy))
                try log.prefix(Int(Double(log.count) * part)).write(to: URL(fileURLWithPath: copy + "-wal"))
                let cut = try SQLiteTaskStore(path: copy)
                let rooms = try await cut.rooms().map(\.document.id)
                #expect(index > 0 || rooms.count == Self.rooms)
                #expect(rooms.count <= last)
                // The first rooms are there, each with its task: no change is stored in part.
                #expect(Set(rooms) == Set((0..<rooms.count).map { RoomID("room\($0)") }))
                #expect(try await cut.tasks().count == rooms.count)
                #expect(try await cut.commit(StoreChange(event: event("after"))) == .committed)
                last = rooms.count
                await cut.close()
            }
        }
    }

    /// A file that another program has locked is sound, and must not be reported as one to restore from a backup.
    @Test func aFileThatIsHeldIsNotCalledCorrupt() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            await (try SQLiteTaskStore(path: path)).close()
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: path, configuration: configuration)
            try await other.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
            }
            let error = #expect(throws: StoreError.self) { try SQLiteTaskStore(path: path) }
            guard case .engine(let reason)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason.contains("locked"), "\(reason)")
            try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            try other.close()
            await (try SQLiteTaskStore(path: path)).close()
        }
    }

    /// The time of the oldest event is read every 30 seconds.
    @Test func anEventWithADamagedTimeStopsNothing() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let time = ManualClock()
            let sound = try SQLiteTaskStore(path: path, clock: time.clock)
            for number in 0..<3 { _ = try await sound.commit(StoreChange(event: event("\(number)"))) }
            await sound.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.write { try $0.execute(sql: "UPDATE events SET at = 'x' WHERE id = '0'") }
            try queue.close()
            time.advance(Retention().eventAge + 1)
            let store = try SQLiteTaskStore(path: path, clock: time.clock)
            #expect(try await store.removeExpired() == 2)
            #expect(try await store.events(of: "demo", limit: 9).map(\.id) == ["0"])
            await store.close()
        }
    }

    /// Whether the clock was set back is judged by the newest times before the start.
    @Test func damagedTimesOfTheNewestRowsStopNoWrite() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let sound = try SQLiteTaskStore(path: path)
            try await fill(sound)
            await sound.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.write { db in
                try db.execute(sql: "UPDATE events SET at = 'x'")
                try db.execute(sql: "UPDATE outbox SET queued = x'00'")
            }
            try queue.close()
            let store = try SQLiteTaskStore(path: path)
            #expect(try await store.commit(StoreChange(event: event("after the damage"))) == .committed)
            await store.close()
        }
    }

    @Test(arguments: [
        "rooms", "tasks", "events", "timeline", "switches", "layout_versions", "layout_events", "nodes", "leases",
        "outbox", "attempts", "subscriptions", "probe", "removed_tasks", "grdb_migrations",
    ])
    func aMissingTableIsNamedWithTheCure(_ table: String) async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let sound = try SQLiteTaskStore(path: path)
            try await fill(sound)
            await sound.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.write { try $0.execute(sql: "DROP TABLE \(table)") }
            try queue.close()
            var errors: [StoreError] = []
            do throws(StoreError) {
                let store = try SQLiteTaskStore(path: path)
                errors = await useAll(store)
                await store.close()
            } catch {
                errors = [error]
            }
            #expect(table == "switches" || table == "attempts" || table == "leases" || !errors.isEmpty)
            for error in errors {
                guard case .corrupt(let named, let reason) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(named == path && reason.contains("table"), "\(error)")
                #expect(error.description.contains("backup"))
            }
        }
    }
}
