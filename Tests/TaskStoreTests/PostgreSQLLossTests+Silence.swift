import Foundation
import StoreSupport
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

extension PostgreSQLLossTests {
    /// Runs `body`, which blocks, on a thread of its own. Returns its failure, and the time that it took.
    private static func timed(
        _ body: @escaping @Sendable () throws -> Void
    ) async -> (failure: PGFailure?, duration: Duration) {
        await withCheckedContinuation { continuation in
            Thread {
                let begin = ContinuousClock.now
                var failure: PGFailure?
                do { try body() } catch { failure = error as? PGFailure }
                continuation.resume(returning: (failure: failure, duration: begin.duration(to: .now)))
            }.start()
        }
    }

    /// A server whose processes are all stopped accepts connections and answers nothing. A connection is given up after
    /// `connect_timeout` (2 s), and an answer is waited for at most 30 s (docs/store.md).
    @Test func aSilentServerIsGivenUp() async throws {
        let server = try PostgreSQLServer()
        defer { server.remove() }
        let target = try PostgreSQLTarget(url: server.url())
        let store = try PostgreSQLTaskStore(target)
        // The writer is connected.
        #expect(try await store.commit(StoreChange(event: event("0"))) == .committed)
        let frozen = Tally()
        async let query = Self.timed {
            let connection = try PGConnection(target)
            server.freeze(true)
            frozen.increase()
            try connection.execute("SELECT 1")
        }
        let isFrozen = try await poll(within: .seconds(60), every: .milliseconds(5)) { frozen.value > 0 ? true : nil }
        try #require(isFrozen == true)

        let begin = ContinuousClock.now
        async let written = outcome(of: StoreChange(event: event("1")), in: store)
        let connect = await Self.timed { _ = try PGConnection(target) }
        #expect(connect.failure?.kind == .unreachable)
        let words = connect.failure?.message ?? "connected"
        #expect(words.contains("timeout expired: check that the server runs"), "\(words)")
        #expect(connect.duration < .seconds(15), "\(connect.duration)")

        let (asked, result) = await (query, written)
        #expect(asked.failure?.kind == .lost && asked.failure?.message == "no answer within 30 s")
        #expect(asked.duration > .seconds(20) && asked.duration < .seconds(60), "\(asked.duration)")
        if case .failure(.unavailable(let place, let reason)) = result {
            #expect(place == store.place && reason.contains("timeout expired"), "\(reason)")
            #expect(!reason.contains(PostgreSQLServer.password))
        } else {
            Issue.record("\(result)")
        }
        #expect(begin.duration(to: .now) < .seconds(90))

        server.freeze(false)
        let again = try await poll(within: .seconds(60), every: .milliseconds(100)) {
            try? await store.commit(StoreChange(event: event("1")))
        }
        #expect(again == .committed, "a change that was refused is not stored")
        #expect(try await store.events(of: "demo", limit: 99).map(\.id) == ["0", "1"])
        await store.close()
    }

    /// The network loses a COMMIT, or its answer, and everything that follows on the connection, of whose end neither side
    /// learns. The store gives the connection up after 30 s and looks up the outcome over another one.
    @Test(.timeLimit(.minutes(5))) func aCommitThatVanishesIsLookedUp() async throws {
        async let request: Void = loseCommit(.lostRequest)
        async let answer: Void = loseCommit(.lostAnswer)
        _ = try await (request, answer)
    }

    private func loseCommit(_ cut: CuttingProxy.Cut) async throws {
        try await withProxy { _, _, proxy, store in
            #expect(try await store.commit(StoreChange(event: event("0"))) == .committed)
            proxy.cut(cut)
            let begin = ContinuousClock.now
            async let committed = store.commit(StoreChange(event: event("1")))
            // Reading does not wait for the writer's connection.
            _ = try await store.rooms()
            #expect(begin.duration(to: .now) < .seconds(15))
            #expect(try await committed == .committed)
            let duration = begin.duration(to: .now)
            #expect(duration > .seconds(20) && duration < .seconds(60), "\(duration)")
            #expect(proxy.cuts == 1)
            #expect(try await store.commit(StoreChange(event: event("2"))) == .committed)
            #expect(try await store.events(of: "demo", limit: 99).map(\.id) == ["0", "1", "2"])
        }
    }
}
