import Foundation
import Testing

@testable import TaskStore

/// An open file accepts writes after it was removed, renamed or replaced, but the next start would find none of them.
@Suite struct StoreFilesTests {
    enum Mishap: String, CaseIterable {
        case databaseRemoved, databaseRenamed, databaseReplaced, logRemoved
        case directoryRemoved, directoryRenamed, directoryReplaced

        /// Whether moving the file back restores everything.
        var canBeMended: Bool { self == .databaseRenamed || self == .directoryRenamed }
    }

    @Test(arguments: Mishap.allCases) func nothingIsAcceptedThatWouldBeLost(_ mishap: Mishap) async throws {
        try await withDirectory { place in
            let files = FileManager.default
            let (directory, away) = (place + "/data", place + "/away")
            let (path, file) = (directory + "/store.sqlite", place + "/away.sqlite")
            try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let store = try SQLiteTaskStore(path: path)
            #expect(try await store.commit(StoreChange(event: event("1"))) == .committed)
            switch mishap {
            case .databaseRemoved: try files.removeItem(atPath: path)
            case .databaseRenamed: try files.moveItem(atPath: path, toPath: file)
            case .databaseReplaced:
                try files.copyItem(atPath: path, toPath: file)
                try files.removeItem(atPath: path)
                try files.moveItem(atPath: file, toPath: path)
            case .logRemoved: try files.removeItem(atPath: path + "-wal")
            case .directoryRemoved: try files.removeItem(atPath: directory)
            case .directoryRenamed: try files.moveItem(atPath: directory, toPath: away)
            case .directoryReplaced:
                try files.copyItem(atPath: directory, toPath: away)
                try files.removeItem(atPath: directory)
                try files.moveItem(atPath: away, toPath: directory)
            }
            for number in 2..<5 {
                let result = await outcome(of: StoreChange(event: event("\(number)")), in: store)
                guard case .failure(.displaced(let path, let isGone)) = result else {
                    Issue.record("\(mishap): \(result)")
                    continue
                }
                #expect(path.hasPrefix(directory))
                #expect(isGone == ![.databaseReplaced, .directoryReplaced].contains(mishap))
            }
            let problem = await #expect(throws: StoreError.self) { try await store.check() }
            #expect(problem?.description.contains("while the service runs") == true)
            #expect(try await store.events(of: "demo", limit: 9).first?.id == "1", "it can still be read")
            if mishap.canBeMended {
                let (from, to) = mishap == .databaseRenamed ? (file, path) : (away, directory)
                try files.moveItem(atPath: from, toPath: to)
                #expect(try await store.commit(StoreChange(event: event("9"))) == .committed)
                try await store.check()
            }
            await store.close()
        }
    }
}
