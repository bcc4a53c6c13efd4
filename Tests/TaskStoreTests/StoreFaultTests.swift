import Foundation
import GRDB
import MixModel
import Testing

@testable import TaskStore

/// A broken disk leads to a clear refusal, leaves nothing half done, and the store recovers by itself.
@Suite struct StoreFaultTests {
    @Test func aFullDiskRefusesUntilThereIsSpace() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            let pages = try #require(try await store.read { try Int.fetchOne($0, sql: "PRAGMA page_count") })
            await store.limit(pages: pages + 4)
            let text = String(repeating: "x", count: 3000)
            func change(_ number: Int) -> StoreChange {
                StoreChange(
                    event: event("\(number)"),
                    room: .put(Room(id: RoomID("room\(number)"), settings: RoomSettings(layout: text)), expected: 0))
            }
            var stored: [Int] = []
            for number in 0..<40 {
                do throws(StoreError) {
                    _ = try await store.commit(change(number))
                    stored.append(number)
                } catch {
                    #expect(error == .full(path: path))
                    #expect(error.description.contains(path))
                }
            }
            #expect(stored.count < 40)
            // Each of many concurrent changes fails for itself, and none is stored.
            await withTaskGroup(of: Void.self) { group in
                for number in 100..<140 {
                    let change = change(number)
                    group.addTask {
                        let result = await outcome(of: change, in: store)
                        #expect(result == .failure(.full(path: path)))
                    }
                }
            }
            #expect(try await store.rooms().count == stored.count, "what was stored can be read")
            #expect(try await store.events(of: "demo", limit: 999).count == stored.count)

            await store.limit(pages: 1_000_000)
            for number in 100..<140 { #expect(try await store.commit(change(number)) == .committed) }
            try await store.check()
            await store.close()
        }
    }

    /// The file itself is overwritten while it is in use.
    @Test func aFileThatIsDestroyedWhileItIsUsedIsNamed() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            for number in 0..<200 {
                let room = Room(
                    id: RoomID("room\(number)"), settings: RoomSettings(layout: String(repeating: "x", count: 2000)))
                _ = try await store.commit(StoreChange(event: event("\(number)"), room: .put(room, expected: 0)))
            }
            await store.close()
            #expect(!FileManager.default.fileExists(atPath: path + "-wal"), "a closed store is one file")
            // The store was opened before the damage, and has no page of the tables in its cache.
            let damaged = try SQLiteTaskStore(path: path)
            let file = try #require(FileHandle(forWritingAtPath: path))
            let size = try file.seekToEnd()
            try #require(size > 4096 * 16)
            try file.seek(toOffset: 4096 * 8)
            try file.write(contentsOf: Data(repeating: 0xA5, count: Int(size) - 4096 * 8))
            try file.close()
            var failures: [StoreError] = []
            do throws(StoreError) { _ = try await damaged.rooms() } catch { failures.append(error) }
            for number in 0..<20 {
                do throws(StoreError) {
                    let room = Room(id: RoomID("new\(number)"))
                    _ = try await damaged.commit(
                        StoreChange(event: event("new\(number)"), room: .put(room, expected: 0)))
                } catch {
                    failures.append(error)
                }
            }
            #expect(!failures.isEmpty)
            for failure in failures {
                guard case .corrupt(let named, _) = failure else {
                    Issue.record("\(failure)")
                    continue
                }
                #expect(named == path)
            }
            await damaged.close()
        }
    }
}
