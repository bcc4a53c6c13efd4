import Foundation
import StoreSupport
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Layouts that are changed at one node of a cluster hold at all of its nodes. Each node has its own directory.
@Suite(.timeLimit(.minutes(3))) struct ClusterLayoutTests {
    /// On the store in memory, where nodes find changes by looking, and on PostgreSQL where it is installed.
    private static let places = [false] + (PostgreSQLServer.isInstalled ? [true] : [])

    private func layout(_ algorithm: String, _ description: String = "d") -> String {
        LayoutRouteTests.layout(algorithm, description)
    }

    private func file(of node: ClusterMember) -> String { "\(node.data)/layouts/mine.json" }

    /// Creates the nodes' layouts directories, which `serve` finds in place.
    private func makeDirectories(_ nodes: [ClusterMember]) throws {
        for node in nodes {
            try FileManager.default.createDirectory(
                atPath: node.data + "/layouts", withIntermediateDirectories: true)
        }
    }

    /// Waits until the node uses a version of the layout, and has it in its file.
    private func wait(
        for version: Int, _ content: String, at node: ClusterMember,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("\(node.name) does not use version \(version)", sourceLocation: sourceLocation) {
            () async throws -> Bool? in
            let answer = try await node.call("GET", "/v1/layouts/mine")
            guard answer.status == 200, try answer.value("version") == "\(version)" else { return nil }
            return answer.text.contains(content) ? true : nil
        }
        try await eventually("\(node.name) has no copy of version \(version)", sourceLocation: sourceLocation) {
            () async throws -> Bool? in
            let kept = try? String(contentsOfFile: file(of: node), encoding: .utf8)
            return kept == content ? true : nil
        }
    }

    /// Starts two nodes, and saves a layout at the first one. Returns when both have its first version.
    private func startWithSharedLayout(
        _ start: (_ name: String, _ capacity: Int?) async throws -> ClusterMember
    ) async throws -> (a: ClusterMember, b: ClusterMember) {
        let a = try await start("a", nil)
        let b = try await start("b", nil)
        try makeDirectories([a, b])
        #expect(try await a.call("PUT", "/v1/layouts/mine", layout("grid")).status == 201)
        try await wait(for: 1, layout("grid"), at: b)
        return (a, b)
    }

    @Test(arguments: places) func aChangeHoldsAtEveryNode(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let (a, b) = try await startWithSharedLayout(start)
            // A room at the other node changes its picture.
            #expect(try await b.call("PUT", "/v1/rooms/demo", #"{"layout":"mine"}"#).status == 201)
            for user in ["alice", "bob"] { try await b.publish(user, room: "demo") }
            try await eventually { b.running("auto-demo").first?.plan?.scene.panes.count == 2 ? true : nil }
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("solo")).status == 200)
            try await eventually { b.running("auto-demo").first?.plan?.scene.panes.count == 1 ? true : nil }
            try await wait(for: 2, layout("solo"), at: b)
            let back = try await b.call("POST", "/v1/layouts/mine/rollback", #"{"version":1}"#)
            #expect(try back.status == 200 && back.value("version") == "3", "\(back.text)")
            try await wait(for: 3, layout("grid"), at: a)
            try await eventually { b.running("auto-demo").first?.plan?.scene.panes.count == 2 ? true : nil }
        }
    }

    /// A condition is compared with the newest version of the cluster, also before the node has heard of it.
    @Test(arguments: places) func conditionsHoldAcrossNodes(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("grid")).status == 201)
            let isNew = ["If-None-Match": "*"]
            #expect(try await b.call("PUT", "/v1/layouts/mine", layout("solo"), headers: isNew).status == 412)
            let first = ["If-Match": "\"1\""]
            let second = try await b.call("PUT", "/v1/layouts/mine", layout("solo"), headers: first)
            #expect(try second.status == 200 && second.value("version") == "2", "\(second.text)")
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("stack"), headers: first).status == 412)
            let back = try await a.call("POST", "/v1/layouts/mine/rollback", #"{"version":1}"#, headers: first)
            #expect(back.status == 412, "\(back.text)")
            #expect(try await a.call("DELETE", "/v1/layouts/mine", headers: first).status == 412)
            #expect(try await a.call("DELETE", "/v1/layouts/mine", headers: ["If-Match": "\"2\""]).status == 204)
            let gone = try await b.call("PUT", "/v1/layouts/mine", layout("stack"), headers: ["If-Match": "*"])
            #expect(gone.status == 412, "\(gone.text)")
        }
    }

    @Test(arguments: places) func changesAtTheSameTimeFollowEachOther(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try makeDirectories([a, b])
            let isNew = ["If-None-Match": "*"]
            async let one = a.call("PUT", "/v1/layouts/mine", layout("grid", "a"), headers: isNew)
            async let other = b.call("PUT", "/v1/layouts/mine", layout("grid", "b"), headers: isNew)
            let first = try await [one.status, other.status]
            #expect(first.sorted() == [201, 412])
            for round in 1...5 {
                async let one = a.call("PUT", "/v1/layouts/mine", layout("grid", "a \(round)"))
                async let other = b.call("PUT", "/v1/layouts/mine", layout("grid", "b \(round)"))
                let statuses = try await [one.status, other.status]
                #expect(statuses == [200, 200])
            }
            let newest = try #require(try await a.store.newestLayoutVersions().first { $0.layout == "mine" })
            #expect(newest.number == 11)
            let content = try #require(try await a.store.layoutContent(of: "mine", version: 11))
            for node in [a, b] { try await wait(for: 11, String(decoding: content, as: UTF8.self), at: node) }
        }
    }

    @Test(arguments: places) func aDeletionHoldsAtEveryNode(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let (a, b) = try await startWithSharedLayout(start)
            // A room of any node keeps the layout.
            #expect(try await b.call("PUT", "/v1/rooms/demo", #"{"layout":"mine"}"#).status == 201)
            #expect(try await a.call("DELETE", "/v1/layouts/mine").status == 409)
            #expect(try await a.call("DELETE", "/v1/rooms/demo").status == 204)
            #expect(try await a.call("DELETE", "/v1/layouts/mine").status == 204)
            try await eventually { try await b.call("GET", "/v1/layouts/mine").status == 404 ? true : nil }
            #expect(!FileManager.default.fileExists(atPath: file(of: b)))
            #expect(try await b.call("DELETE", "/v1/layouts/mine").status == 404)
            let versions = try await b.call("GET", "/v1/layouts/mine/versions")
            #expect(try versions.value("versions.0.version") == "1", "\(versions.text)")
            #expect(try versions.value("versions.1.version") == nil, "\(versions.text)")
            #expect(try await b.call("GET", "/v1/layouts/mine/versions/2").status == 404)
            #expect(try await b.call("POST", "/v1/layouts/mine/rollback", #"{"version":2}"#).status == 404)
            let back = try await b.call("POST", "/v1/layouts/mine/rollback", #"{"version":1}"#)
            #expect(try back.status == 201 && back.value("version") == "3", "\(back.text)")
            try await wait(for: 3, layout("grid"), at: a)
        }
    }

    /// A file that is saved is a version for all nodes. One that is lost at a node is not deleted at the others.
    @Test func filesOfANodeAreCopies() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try makeDirectories([a, b])
            try layout("grid").write(toFile: file(of: a), atomically: true, encoding: .utf8)
            try await wait(for: 1, layout("grid"), at: b)
            try FileManager.default.removeItem(atPath: file(of: b))
            try await eventually { b.log.text.contains("its file was removed at this node") ? true : nil }
            for node in [a, b] { #expect(try await node.call("GET", "/v1/layouts/mine").status == 200) }
            // The next change writes it again.
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("solo")).status == 200)
            try await wait(for: 2, layout("solo"), at: b)
            // Two nodes save different files at once: one of them holds at both.
            try layout("grid", "a").write(toFile: file(of: a), atomically: true, encoding: .utf8)
            try layout("grid", "b").write(toFile: file(of: b), atomically: true, encoding: .utf8)
            try await eventually("the nodes do not agree") { () async throws -> Bool? in
                let texts = [a, b].map { try? String(contentsOfFile: file(of: $0), encoding: .utf8) }
                let versions = [
                    try await a.call("GET", "/v1/layouts/mine"), try await b.call("GET", "/v1/layouts/mine"),
                ]
                let numbers = try versions.map { try $0.value("version") }
                return texts[0] == texts[1] && numbers[0] == numbers[1] && numbers[0] != "2" ? true : nil
            }
        }
    }

    /// A node that starts with the files of an earlier time uses what the others have changed meanwhile.
    @Test(arguments: places) func aNodeThatWasAwayCatchesUp(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let (a, b) = try await startWithSharedLayout(start)
            #expect(try await a.call("PUT", "/v1/layouts/other", layout("grid")).status == 201)
            let other = "\(b.data)/layouts/other.json"
            try await eventually { FileManager.default.fileExists(atPath: other) ? true : nil }
            try await b.stop()
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("solo")).status == 200)
            #expect(try await a.call("DELETE", "/v1/layouts/other").status == 204)
            let again = try await start("b", nil)
            try await wait(for: 2, layout("solo"), at: again)
            #expect(try await again.call("GET", "/v1/layouts/other").status == 404)
            #expect(!FileManager.default.fileExists(atPath: other))
            // A file that was changed meanwhile is newer than what the store has.
            try await again.stop()
            try layout("stack").write(toFile: file(of: again), atomically: true, encoding: .utf8)
            let third = try await start("b", nil)
            try await wait(for: 3, layout("stack"), at: third)
            try await wait(for: 3, layout("stack"), at: a)
        }
    }

    /// A node keeps the version before one that only a later release understands, also after a start.
    @Test func aVersionOfALaterReleaseDoesNotCostTheOneBefore() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("grid")).status == 201)
            let later = NewLayoutVersion(
                layout: "mine", number: 2, at: wallClock(), origin: .api, content: Array("of a later release".utf8))
            _ = try await a.store.commit(StoreChange(layoutVersion: later))
            try await eventually { a.log.text.contains("version 2 cannot be used here") ? true : nil }
            try await wait(for: 1, layout("grid"), at: a)
            try await a.stop()
            let again = try await start("a", nil)
            try await wait(for: 1, layout("grid"), at: again)
            #expect(again.log.text.contains("version 2 cannot be used here"))
            // Its number is taken.
            #expect(try await again.call("PUT", "/v1/layouts/mine", layout("solo")).status == 200)
            try await wait(for: 3, layout("solo"), at: again)
        }
    }

    /// A file that is saved without a database is in use at once, and stored later, unless another node was later.
    @Test func aFileThatWasNotStoredIsStoredLater() async throws {
        try await withDirectory { directory in
            let store = RefusingStore()
            let a = try await ClusterMember("a", in: directory, store: store, lease: .seconds(60))
            try makeDirectories([a])
            store.refuses.withLock { $0 = true }
            try layout("grid").write(toFile: file(of: a), atomically: true, encoding: .utf8)
            try await wait(for: 1, layout("grid"), at: a)
            #expect(try await store.newestLayoutVersions().isEmpty)
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("solo")).status == 503)
            store.refuses.withLock { $0 = false }
            try await eventually("the version is not stored") {
                try await store.newestLayoutVersions().first?.number == 1 ? true : nil
            }
            store.refuses.withLock { $0 = true }
            try layout("solo").write(toFile: file(of: a), atomically: true, encoding: .utf8)
            try await wait(for: 2, layout("solo"), at: a)
            let later = NewLayoutVersion(
                layout: "mine", number: 2, at: wallClock() + 60, origin: .api, content: Array(layout("stack").utf8))
            _ = try await store.base.commit(StoreChange(layoutVersion: later))
            try await wait(for: 2, layout("stack"), at: a)
            try await a.stop()
        }
    }

    /// A store that does not answer does not keep a saved file from viewers.
    @Test func aFileIsInUseBeforeTheStoreAnswers() async throws {
        try await withDirectory { directory in
            let store = RefusingStore()
            let a = try await ClusterMember("a", in: directory, store: store, lease: .seconds(60))
            try makeDirectories([a])
            store.hangs.withLock { $0 = true }
            defer { store.hangs.withLock { $0 = false } }
            try await eventually { store.isAsked.withLock { $0 } ? true : nil }
            try layout("grid").write(toFile: file(of: a), atomically: true, encoding: .utf8)
            try await wait(for: 1, layout("grid"), at: a)
            store.hangs.withLock { $0 = false }
            try await a.stop()
        }
    }

    /// A node whose files cannot be written uses the versions of the store all the same, and does not take its old file
    /// for a new version.
    @Test(.enabled(if: getuid() != 0)) func aDirectoryThatCannotBeWrittenIsNotInTheWay() async throws {
        try await withCluster { start in
            let (a, b) = try await startWithSharedLayout(start)
            let directory = b.data + "/layouts"
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: directory)
            defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory) }
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("solo")).status == 200)
            try await eventually {
                try await b.call("GET", "/v1/layouts/mine").value("version") == "2" ? true : nil
            }
            try await b.stop()
            let again = try await start("b", nil)
            #expect(try await again.call("GET", "/v1/layouts/mine").value("version") == "2")
            // The watch has read the file by now.
            #expect(try await a.call("PUT", "/v1/layouts/other", layout("grid")).status == 201)
            try await eventually {
                try await again.call("GET", "/v1/layouts/other").status == 200 ? true : nil
            }
            #expect(try await a.call("GET", "/v1/layouts/mine").value("version") == "2")
        }
    }

    /// A file that could not be replaced is no change of an operator, however many versions later it can be.
    @Test(.enabled(if: getuid() != 0)) func anOutdatedFileIsReplacedWhenItCanBeWritten() async throws {
        try await withCluster { start in
            let (a, b) = try await startWithSharedLayout(start)
            #expect(try await a.call("PUT", "/v1/layouts/other", layout("grid")).status == 201)
            let other = "\(b.data)/layouts/other.json"
            try await eventually { FileManager.default.fileExists(atPath: other) ? true : nil }
            let directory = b.data + "/layouts"
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: directory)
            defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory) }
            for algorithm in ["solo", "stack"] {
                for name in ["mine", "other"] {
                    #expect(try await a.call("PUT", "/v1/layouts/\(name)", layout(algorithm)).status == 200)
                    let version = try await a.call("GET", "/v1/layouts/\(name)").value("version")
                    try await eventually {
                        try await b.call("GET", "/v1/layouts/\(name)").value("version") == version ? true : nil
                    }
                }
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory)
            #expect(try await a.call("PUT", "/v1/layouts/mine", layout("solo", "later")).status == 200)
            try await wait(for: 4, layout("solo", "later"), at: b)
            #expect(try await a.call("DELETE", "/v1/layouts/other").status == 204)
            try await eventually { FileManager.default.fileExists(atPath: other) ? nil : true }
        }
    }
}

/// A store that takes no versions of layouts, or does not say which it has, while it is told so.
private final class RefusingStore: ForwardingTaskStore {
    let base: any TaskStore = MemoryTaskStore()
    let refuses = Mutex(false)
    let hangs = Mutex(false)
    /// Whether a caller was kept waiting.
    let isAsked = Mutex(false)

    func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        while hangs.withLock({ $0 }) {
            isAsked.withLock { $0 = true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return try await base.newestLayoutVersions()
    }

    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        guard change.layoutVersion == nil || !refuses.withLock({ $0 }) else {
            throw .unavailable(place: "the store", reason: "a test")
        }
        return try await base.commit(change)
    }
}
