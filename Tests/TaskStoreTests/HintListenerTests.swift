import Foundation
import MixModel
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// Hints between nodes with NOTIFY, which spare them the wait for their next look.
@Suite(needsPostgreSQL) struct HintListenerTests {
    /// Collects the hints that it hears.
    private final class Ear: Sendable {
        private let kept = Mutex<[StoreHint]>([])
        var heard: [StoreHint] { kept.withLock { $0 } }

        func listen(to hints: AsyncStream<StoreHint>) async {
            for await hint in hints { kept.withLock { $0.append(hint) } }
        }

        /// Waits until a hint has been heard this many times.
        func wait(for hint: StoreHint, times: Int = 1, _ location: SourceLocation = #_sourceLocation) async throws {
            let found = try await poll(within: .seconds(60), every: .milliseconds(2)) {
                heard.count { $0 == hint } >= times ? true : nil
            }
            #expect(found == true, "\(hint) was not heard: \(heard)", sourceLocation: location)
        }
    }

    /// Runs a test with a store that listens.
    private func withEar(
        _ store: PostgreSQLTaskStore, _ body: (Ear) async throws -> Void
    ) async throws {
        let ear = Ear()
        let hints = store.hints()
        async let listening: Void = ear.listen(to: hints)
        // The store listens from now on.
        try await ear.wait(for: .anything)
        do { try await body(ear) } catch { Issue.record(error) }
        await store.close()
        await listening
    }

    @Test func otherNodesAreToldWhatTheyLookFor() async throws {
        try await withSchema { server, schema in
            let first = try PostgreSQLTaskStore(target(server, schema))
            let other = try PostgreSQLTaskStore(target(server, server.makeSchema()))
            try await withEar(try PostgreSQLTaskStore(target(server, schema))) { ear in
                let own = try await first.register("one", for: .seconds(60))
                let leases = try await first.claim(
                    [.lease(of: "a"), .lease(of: "b")], by: own, for: .seconds(60))
                #expect(leases.count == 2)
                // Hints are not sent about a room that is not wanted, and those of another schema are not heard.
                try await first.dismiss([leases[0]], areWanted: false)
                try await other.expel(try await other.register("one", for: .seconds(60)))
                try await first.dismiss([leases[1]], areWanted: true)
                try await ear.wait(for: .rooms)
                try await first.expel(own)
                try await ear.wait(for: .departure)
                let subscription = Subscription(
                    id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
                _ = try await first.commit(StoreChange(event: event("1")))
                _ = try await first.commit(StoreChange(subscription: .put(subscription, expected: 0)))
                try await ear.wait(for: .subscriptions)
                let version = NewLayoutVersion(deletionOf: "x", number: 1, at: 0)
                _ = try await first.commit(StoreChange(layoutVersion: version))
                try await ear.wait(for: .layouts)
                #expect(ear.heard == [.anything, .rooms, .departure, .subscriptions, .layouts])
            }
            await first.close()
            await other.close()
        }
    }

    /// A node does not receive its own hints.
    @Test func aNodeDoesNotHearItself() async throws {
        try await withSchema { server, schema in
            let other = try PostgreSQLTaskStore(target(server, schema))
            let store = try PostgreSQLTaskStore(target(server, schema))
            try await withEar(store) { ear in
                try await store.expel(try await store.register("one", for: .seconds(60)))
                await other.tell(.rooms)
                try await ear.wait(for: .rooms)
                #expect(ear.heard == [.anything, .rooms])
            }
            await other.close()
        }
    }

    /// A listener that could not hear for a while is told that something may have happened.
    @Test func itListensAgainWhenTheConnectionIsLost() async throws {
        try await withSchema { server, schema in
            let proxy = try CuttingProxy(to: server.port, cuttingAt: "nothing cuts")
            let url = server.url(port: proxy.port, schema: schema) + "&sslmode=disable"
            let other = try PostgreSQLTaskStore(target(server, schema))
            try await withEar(try PostgreSQLTaskStore(PostgreSQLTarget(url: url))) { ear in
                for round in 1...3 {
                    proxy.reset()
                    try await ear.wait(for: .anything, times: round + 1)
                    await other.tell(.rooms)
                    try await ear.wait(for: .rooms, times: round)
                }
            }
            await other.close()
            proxy.close()
        }
    }

    @Test func itOutlivesTheServer() async throws {
        let server = try PostgreSQLServer()
        defer { server.remove() }
        let other = try PostgreSQLTaskStore(PostgreSQLTarget(url: server.url()))
        try await withEar(try PostgreSQLTaskStore(PostgreSQLTarget(url: server.url()))) { ear in
            server.crash()
            // Sending a hint fails silently.
            await other.tell(.rooms)
            try server.start()
            try await ear.wait(for: .anything, times: 2)
            // The sender has to connect again too; hints may be lost until then.
            _ = try await poll(within: .seconds(60), every: .milliseconds(50)) {
                await other.tell(.departure)
                return ear.heard.contains(.departure) ? true : nil
            }
            #expect(ear.heard.contains(.departure))
        }
        await other.close()
    }

    @Test func listenersAndWhatWaitsForThemAreBounded() async throws {
        // No server answers at this port.
        let listener = HintListener(try PostgreSQLTarget(url: "postgresql://mix@127.0.0.1:1/mix"), cluster: "a-B")
        #expect(listener.channel == "mixorchestrator_ab")
        let hints = listener.hints()
        let reader = Task { for await _ in listener.hints() {} }
        while listener.listeners < 2 { try await Task.sleep(for: .milliseconds(1)) }
        reader.cancel()
        await reader.value
        while listener.listeners > 1 { try await Task.sleep(for: .milliseconds(1)) }
        for _ in 0..<1000 { listener.hear("other rooms") }
        for text in ["\(listener.origin) departure", "other nonsense", "departure", "", " ", "other departure x"] {
            listener.hear(text)
        }
        listener.hear("other subscriptions")
        await listener.close()
        let heard = await hints.reduce(into: []) { $0.append($1) }
        #expect(heard.count == HintListener.mostWaiting)
        #expect(heard.last == .subscriptions && Set(heard) == [.rooms, .subscriptions])
        for await hint in listener.hints() { Issue.record("\(hint) after the end") }
    }
}
