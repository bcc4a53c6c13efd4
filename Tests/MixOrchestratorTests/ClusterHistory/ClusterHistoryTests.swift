import Foundation
import MixModel
import PostgreSQLStore
import StoreSupport
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// Random histories of three nodes. After any kill, freeze, cut, copy of a machine or failover, the nodes must match the
/// reference model.
@Suite(.serialized) struct ClusterHistoryTests {
    /// Number of histories that run at once. They mostly wait.
    private static let atOnce = 10

    @Test(.timeLimit(.minutes(20))) func whateverHappensTheClusterConverges() async throws {
        let seed = SeededGenerator(announcedFor: "histories of a cluster").seed
        let runs = TestLength.of(short: 10, long: 200)
        let outcomes = try await withThrowingTaskGroup(of: (UInt64, ClusterHistory.Outcome).self) { group in
            var outcomes: [(seed: UInt64, outcome: ClusterHistory.Outcome)] = []
            for run in 0..<runs {
                if run >= Self.atOnce, let next = try await group.next() { outcomes.append(next) }
                group.addTask {
                    let seed = seed &+ UInt64(run)
                    return (seed, try await Self.playInMemory(seed))
                }
            }
            for try await next in group { outcomes.append(next) }
            return outcomes
        }
        report(outcomes)
    }

    /// The same with real failovers: the primary is killed, and a standby that has confirmed every commit takes over.
    @Test(.enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"), .timeLimit(.minutes(10)))
    func theSameOnPostgreSQL() async throws {
        let seed = SeededGenerator(announcedFor: "histories of a cluster on PostgreSQL").seed
        var outcomes: [(seed: UInt64, outcome: ClusterHistory.Outcome)] = []
        for run in 0..<TestLength.of(short: 1, long: 12) {
            let seed = seed &+ UInt64(run)
            outcomes.append((seed, try await Self.playOnPostgreSQL(seed)))
        }
        report(outcomes)
    }

    private static func playInMemory(_ seed: UInt64) async throws -> ClusterHistory.Outcome {
        let store = MemoryTaskStore()
        return try await withDirectory { directory in
            try await ClusterHistory.play(
                seed: seed, in: directory, HistoryPlace(open: { store }, promote: nil, close: { _ in }))
        }
    }

    private static func playOnPostgreSQL(_ seed: UInt64) async throws -> ClusterHistory.Outcome {
        let primary = try PostgreSQLServer()
        let standby = try PostgreSQLServer(copying: primary)
        defer {
            standby.remove()
            primary.remove()
        }
        try primary.confirmWithStandby()
        let target = try PostgreSQLTarget(url: primary.url(or: standby))
        let isPromoted = Mutex(false)
        let place = HistoryPlace {
            try PostgreSQLTaskStore(target)
        } promote: {
            let isFirst = isPromoted.withLock { done in
                defer { done = true }
                return !done
            }
            guard isFirst else { return }
            primary.crash()
            try standby.promote()
        } close: {
            await $0.close()
        }
        return try await withDirectory { directory in
            try await ClusterHistory.play(seed: seed, in: directory, place)
        }
    }

    private func report(_ outcomes: [(seed: UInt64, outcome: ClusterHistory.Outcome)]) {
        for (seed, outcome) in outcomes where !outcome.untrue.isEmpty {
            Issue.record("MIX_TEST_SEED=\(seed), its first run: \(outcome.untrue)")
        }
        let events = outcomes.reduce(0) { $0 + $1.outcome.events }
        let happened = outcomes.map(\.outcome.happened).reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        let words = happened.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
        print("\(outcomes.count) histories, \(events) deliveries, \(words)")
        #expect(!happened.isEmpty)
    }
}
