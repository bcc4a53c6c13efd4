import Foundation
import GRDB
import MixModel
import Synchronization
import Testing

@testable import TaskStore

extension SQLiteTaskStore: GroupingStore {
    func occupyWriter(_ body: @escaping @Sendable () -> Void) async throws { try await write { _, _ in body() } }
}

/// Many changes share one transaction and one sync of the disk.
@Suite struct GroupCommitTests {
    @Test func concurrentChangesShareTransactions() async throws {
        try await withDirectory { directory in
            let groups = Mutex<[GroupCommit]>([])
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite") { group in
                groups.withLock { $0.append(group) }
            }
            try await store.expectSharedTransactions(of: GroupWriter.groupSize) { groups.withLock { $0 } }
        }
    }

    @Test func aQueueThatIsFullSaysSo() async throws {
        try await withDirectory { directory in
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
            try await store.expectFullQueue(of: GroupWriter.queueSize)
        }
    }

    /// A write that the engine refuses fails alone.
    @Test func oneBadWriteDoesNotFailItsGroup() async throws {
        try await withDirectory { directory in
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
            let writer = try await HeldWriter(of: store)
            async let good = store.commit(StoreChange(event: event("1")))
            async let bad: Void = store.write { db, _ in
                try db.execute(sql: "INSERT INTO rooms (id, version, document, live) VALUES ('half', 1, '{}', 0)")
                try db.execute(sql: "INSERT INTO no_table VALUES (1)")
            }
            async let alsoGood = store.commit(StoreChange(event: event("2")))
            while store.waiting < 3 { try await Task.sleep(for: .milliseconds(1)) }
            writer.release()
            #expect(try await good == .committed)
            #expect(try await alsoGood == .committed)
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

    /// All waiting changes are stored before the store is closed.
    @Test func closingLosesNothing() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            let writer = try await HeldWriter(of: store)
            async let committed = store.commit(StoreChange(event: event("1")))
            while store.waiting < 1 { try await Task.sleep(for: .milliseconds(1)) }
            async let closed: Void = store.close()
            writer.release()
            #expect(try await committed == .committed)
            await closed
            let again = try SQLiteTaskStore(path: path)
            #expect(try await again.events(of: "demo", limit: 9).count == 1)
            await again.close()
        }
    }

    /// A few large changes fill the log as many small ones do.
    @Test(arguments: [(changes: 12_288, bytes: 0), (changes: 4096, bytes: 32_000)])
    func theLogOfWritesDoesNotGrowForEver(changes: Int, bytes: Int) async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            let settings = RoomSettings(layout: String(repeating: "x", count: bytes))
            for round in 0..<(changes / 512) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<512 {
                        let room = RoomID("\(round) \(number)")
                        group.addTask {
                            let put = StoreChange(
                                event: event("\(round) \(number)", room: room),
                                room: .put(Room(id: room, settings: settings), expected: 0))
                            _ = try await store.commit(put)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            let size = try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
            print("log \((size ?? 0) >> 20) MB after \(changes) changes")
            #expect((size ?? .max) < 60 << 20, "\(size ?? 0)")
            await store.close()
        }
    }
}
