import Foundation
import GRDB
import MixModel
import Testing

@testable import TaskStore

@Suite struct SQLiteTaskStoreTests {
    @Test func everythingIsThereAfterOpeningAgain() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let first = try SQLiteTaskStore(path: path)
            _ = try await first.commit(StoreChange(event: event("1"), room: .put(Room(id: "demo"), expected: 0)))
            // The first store is not closed, as after a crash.
            let second = try SQLiteTaskStore(path: path)
            #expect(try await second.room("demo")?.version == 1)
            #expect(try await second.commit(StoreChange(event: event("1"))) == .duplicate)
            await first.close()
            await second.close()
        }
    }

    @Test func theFileIsForItsOwnerOnly() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            _ = try await store.commit(StoreChange(event: event("1")))
            for file in try FileManager.default.contentsOfDirectory(atPath: directory) {
                let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/" + file)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
            }
            await store.close()
        }
    }

    @Test func aFileThatIsNoDatabaseIsNamed() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: StoreError.self) { try SQLiteTaskStore(path: path) }
            guard case .corrupt(let named, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(named == path)
            #expect(error?.description.contains("backup") == true)
        }
    }

    @Test func aDirectoryThatIsNotThereIsNamed() {
        let error = #expect(throws: StoreError.self) { try SQLiteTaskStore(path: "/nowhere/at/all/store.sqlite") }
        #expect(error?.description.contains("/nowhere/at/all/store.sqlite") == true)
        #expect(error?.description.contains("--data") == true)
    }

    @Test func aFileOfANewerVersionIsRefused() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            await store.close()
            let queue = try DatabaseQueue(path: path)
            try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 from the future')") }
            try queue.close()
            #expect(throws: StoreError.tooNew(path: path)) { try SQLiteTaskStore(path: path) }
        }
    }

    @Test func commitsAreSyncedToDisk() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let store = try SQLiteTaskStore(path: path)
            #expect(try await store.synchronousSetting() == 2, "2 = FULL")
            await store.close()
        }
    }
}
