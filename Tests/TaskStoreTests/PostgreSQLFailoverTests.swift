import Foundation
import MixModel
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// A standby that confirms commits replaces a primary that is killed. All confirmed changes are there, and the store
/// continues by itself.
@Suite(needsPostgreSQL, .serialized) struct PostgreSQLFailoverTests {
    /// Longest permitted time from the end of a promotion to the first answer. In the short form it is the median's, because the
    /// machine runs other tests.
    private static let limit: Duration = .seconds(3)

    /// Writers that continue through failures, each with a room of its own, and the changes that were confirmed to
    /// them.
    private final class Writers: Sendable {
        let trial: Int
        static let count = 8
        private let store: PostgreSQLTaskStore
        private let end = Tally()
        let committed = Names()

        init(_ store: PostgreSQLTaskStore, trial: Int) {
            self.store = store
            self.trial = trial
        }

        func room(_ writer: Int) -> RoomID { RoomID("t\(trial)-\(writer)") }

        func run(while body: () async throws -> Void) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<Self.count { group.addTask { await self.write(writer) } }
                defer { end.increase() }
                try await body()
            }
        }

        private func write(_ writer: Int) async {
            var (number, version) = (0, 0)
            let room = room(writer)
            while end.value == 0 {
                let change = StoreChange(
                    event: event("\(room)-\(number)", room: room), room: .put(Room(id: room), expected: version))
                switch await outcome(of: change, in: store) {
                case .success(.committed):
                    committed.insert("\(room)-\(number)")
                    number += 1
                    version += 1
                case .success(.duplicate), .failure(.conflict):
                    // The change was stored, although its outcome could not be determined.
                    if let stored = try? await store.room(room) { version = stored.version }
                    number += 1
                case .failure: try? await Task.sleep(for: .milliseconds(5))
                }
            }
        }

        /// Waits until this many more changes than `count` are confirmed.
        func wait(for more: Int, than count: Int) async throws {
            let found = try await poll(within: .seconds(60), every: .milliseconds(2)) {
                committed.all.count >= count + more ? true : nil
            }
            #expect(found == true, "nothing is stored any more")
        }
    }

    @Test(.timeLimit(.minutes(20))) func nothingThatWasAnsweredIsLost() async throws {
        var random = SeededGenerator(announcedFor: "failover")
        let trials = TestLength.of(short: 3, long: 50)
        var primary = try PostgreSQLServer()
        defer { primary.remove() }
        var pauses: [Duration] = []
        var stored = 0
        for trial in 0..<trials {
            let standby = try PostgreSQLServer(copying: primary)
            try primary.confirmWithStandby()
            let url = Bool.random(using: &random) ? primary.url(or: standby) : standby.url(or: primary)
            let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: url))
            let writers = Writers(store, trial: trial)
            let (dead, delay) = (primary, Double.random(in: 0...0.05, using: &random))
            try await writers.run {
                try await writers.wait(for: 100, than: 0)
                try await Task.sleep(for: .seconds(delay))
                dead.crash()
                let before = writers.committed.all.count
                try standby.promote()
                let promoted = ContinuousClock.now
                try await writers.wait(for: 1, than: before)
                pauses.append(promoted.duration(to: .now))
                try await writers.wait(for: 100, than: before)
            }
            for writer in 0..<Writers.count {
                let room = writers.room(writer)
                let events = try await store.events(of: room, limit: .max).map(\.id)
                #expect(Set(events).count == events.count, "trial \(trial): twice")
                #expect(try await store.room(room)?.version == events.count)
                let lost = writers.committed.all.filter { $0.hasPrefix("\(room)-") }.subtracting(events)
                #expect(lost.isEmpty, "trial \(trial): \(lost)")
                stored += events.count
            }
            await store.close()
            primary.remove()
            primary = standby
        }
        let (longest, middle) = (pauses.max() ?? .zero, pauses.sorted()[pauses.count / 2])
        #expect((TestLength.isLong ? longest : middle) <= Self.limit, "\(pauses)")
        print("\(trials) failovers, \(stored) events, none lost; on again within \(longest) of the promotion")
    }
}
