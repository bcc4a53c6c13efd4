import Foundation
import MixModel
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// Broken connections and crashed servers lose no confirmed change and store nothing twice.
@Suite(needsPostgreSQL, .serialized) struct PostgreSQLLossTests {
    /// Runs a test with a store whose connections can be cut.
    func withProxy(
        _ body: (PostgreSQLServer, String, CuttingProxy, PostgreSQLTaskStore) async throws -> Void
    ) async throws {
        try await withSchema { server, schema in
            let proxy = try CuttingProxy(to: server.port, cuttingAt: "COMMIT\u{0}")
            let url = server.url(port: proxy.port, schema: schema)
            let separator = url.contains("?") ? "&" : "?"
            let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: url + separator + "sslmode=disable"))
            try await body(server, schema, proxy, store)
            await store.close()
            proxy.close()
        }
    }

    /// The connection is cut before the server receives the COMMIT, or after it has executed it.
    @Test(arguments: [CuttingProxy.Cut.request, .answer])
    func aLostCommitIsLookedUp(_ cut: CuttingProxy.Cut) async throws {
        try await withProxy { server, schema, proxy, store in
            for number in 0..<20 {
                proxy.cut(cut)
                let room = Room(id: "demo", settings: RoomSettings(host: UserID("u\(number)")))
                let change = StoreChange(event: event("\(number)"), room: .put(room, expected: number))
                let result = try await store.commit(change)
                #expect(result == .committed, "\(number)")
                #expect(proxy.cuts == 1)
            }
            #expect(try await store.room("demo")?.version == 20)
            #expect(try await store.events(of: "demo", limit: 99).count == 20)
        }
    }

    /// Every change of the group gets its own outcome.
    @Test func theOutcomesOfALostGroupAreThoseOfItsChanges() async throws {
        try await withProxy { server, schema, proxy, store in
            _ = try await store.commit(StoreChange(event: event("known")))
            let writer = try await HeldWriter(of: store)
            async let new = outcome(of: StoreChange(event: event("new")), in: store)
            async let known = outcome(of: StoreChange(event: event("known")), in: store)
            async let late = outcome(of: StoreChange(room: .put(Room(id: "x"), expected: 3)), in: store)
            while store.waiting < 3 { try await Task.sleep(for: .milliseconds(1)) }
            // The COMMIT of the held writer comes first.
            proxy.cut(.answer, passing: 1)
            writer.release()
            let results = await [new, known, late]
            #expect(
                results == [.success(.committed), .success(.duplicate), .failure(.conflict(document: "x"))])
            #expect(proxy.cuts == 1)
        }
    }

    @Test func anOutcomeThatNobodyTellsIsUnknown() async throws {
        try await withProxy { server, schema, proxy, store in
            _ = try await store.commit(StoreChange(event: event("0")))
            proxy.cut(.answer, staysDown: true)
            let result = await outcome(of: StoreChange(event: event("1")), in: store)
            #expect(result == .failure(.outcomeUnknown(place: store.place)))
            let refused = await outcome(of: StoreChange(event: event("2")), in: store)
            guard case .failure(.unavailable) = refused else {
                Issue.record("\(refused)")
                return
            }
            proxy.comeUp()
            let again = try await poll(within: .seconds(60), every: .milliseconds(100)) {
                try? await store.commit(StoreChange(event: event("1")))
            }
            #expect(again == .duplicate, "it was stored")
        }
    }

    @Test func brokenConnectionsAreMadeAgain() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            for number in 0..<5 {
                _ = try await store.rooms()
                #expect(try await store.commit(StoreChange(event: event("\(number)"))) == .committed)
                try server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'mix' AND query LIKE '%'",
                    database: "mix")
                #expect(try await store.events(of: "demo", limit: 99).count == number + 1)
            }
            await store.close()
        }
    }

    /// All processes of the server are killed repeatedly while many clients write.
    @Test func aCrashLosesNothingThatWasAnswered() async throws {
        let server = try PostgreSQLServer()
        defer { server.remove() }
        let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: server.url()))
        let rounds = TestLength.of(short: 3, long: 12)
        let (end, committed) = (Tally(), Names())
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<16 {
                group.addTask {
                    var (number, version) = (0, 0)
                    let room = RoomID("room\(writer)")
                    while end.value == 0 {
                        let id = "\(writer)-\(number)"
                        let change = StoreChange(
                            event: event(id, room: room), room: .put(Room(id: room), expected: version))
                        switch await outcome(of: change, in: store) {
                        case .success(.committed):
                            committed.insert(id)
                            number += 1
                            version += 1
                        case .success(.duplicate), .failure(.conflict):
                            // The change was stored, although its outcome could not be determined.
                            if let stored = try? await store.room(room) { version = stored.version }
                            number += 1
                        case .failure: try? await Task.sleep(for: .milliseconds(20))
                        }
                    }
                }
            }
            for round in 0..<rounds {
                let before = committed.all.count
                _ = try? await poll(within: .seconds(60), every: .milliseconds(20)) {
                    committed.all.count > before + 200 ? true : nil
                }
                #expect(committed.all.count > before, "round \(round): it recovers by itself")
                server.crash()
                do { try server.start() } catch { Issue.record("\(error)") }
            }
            end.increase()
        }
        var stored: [String] = []
        for writer in 0..<16 {
            let room = RoomID("room\(writer)")
            let events = try await store.events(of: room, limit: .max).map(\.id)
            stored += events
            #expect(try await store.room(room)?.version == events.count)
        }
        #expect(Set(stored).count == stored.count)
        let lost = committed.all.subtracting(stored)
        #expect(lost.isEmpty, "\(lost)")
        print("\(stored.count) events over \(rounds) crashes, none lost")
        await store.close()
    }

    @Test func aServerThatIsDownIsNamedAtOnceAndNothingWaits() async throws {
        let server = try PostgreSQLServer()
        defer { server.remove() }
        let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: server.url()))
        _ = try await store.commit(StoreChange(event: event("0")))
        server.crash()
        let start = ContinuousClock.now
        for number in 0..<200 {
            let result = await outcome(of: StoreChange(event: event("down \(number)")), in: store)
            guard case .failure(.unavailable(let place, _)) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(place == store.place)
        }
        #expect(start.duration(to: .now) < .seconds(60), "each of 200 waits")
        try server.start()
        let again = try await poll(within: .seconds(60), every: .milliseconds(100)) {
            try? await store.commit(StoreChange(event: event("1")))
        }
        #expect(again == .committed)
        await store.close()
    }
}
