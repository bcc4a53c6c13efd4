import Foundation
import GRDB
import MixModel
import Synchronization
import Testing

@testable import TaskStore

/// Keeps a store's writer busy until it is released, so that all other writes queue behind it.
private struct HeldWriter {
    private let gate = DispatchSemaphore(value: 0)

    init(of store: SQLiteTaskStore) async throws {
        let isHeld = Counter()
        let gate = gate
        Task {
            try await store.write { _, _ in
                isHeld.increase()
                gate.wait()
            }
        }
        while isHeld.value < 1 { try await Task.sleep(for: .milliseconds(1)) }
    }

    func release() { gate.signal() }
}

/// Many changes share one transaction and one sync of the disk.
@Suite struct GroupCommitTests {
    @Test func concurrentChangesShareTransactions() async throws {
        try await withDirectory { directory in
            let groups = Mutex<[GroupCommit]>([])
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite") { group in
                groups.withLock { $0.append(group) }
            }
            let writer = try await HeldWriter(of: store)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        let room = Room(id: RoomID("room\(number)"))
                        let change = StoreChange(event: event("\(number)"), room: .put(room, expected: 0))
                        let result = try await store.commit(change)
                        #expect(result == .committed)
                    }
                }
                while store.waiting < 1000 { try await Task.sleep(for: .milliseconds(1)) }
                writer.release()
                try await group.waitForAll()
            }
            let sizes = groups.withLock { $0.map(\.changes) }
            #expect(sizes.reduce(0, +) == 1001)
            #expect(sizes.count <= 4, "\(sizes)")
            #expect(sizes.allSatisfy { $0 <= GroupWriter.groupSize }, "\(sizes)")
            #expect(try await store.rooms().count == 1000)
            await store.close()
        }
    }

    @Test func aQueueThatIsFullSaysSo() async throws {
        try await withDirectory { directory in
            let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
            let writer = try await HeldWriter(of: store)
            let refused = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<GroupWriter.queueSize + 50 {
                    group.addTask {
                        let result = await outcome(of: StoreChange(event: event("\(number)")), in: store)
                        guard result != .success(.committed) else { return }
                        #expect(result == .failure(.overloaded))
                        refused.increase()
                    }
                }
                while refused.value < 50 { try await Task.sleep(for: .milliseconds(1)) }
                writer.release()
                try await group.waitForAll()
            }
            #expect(refused.value == 50)
            #expect(try await store.events(of: "demo", limit: .max).count == GroupWriter.queueSize)
            await store.close()
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

private final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func increase() { count.withLock { $0 += 1 } }
}
