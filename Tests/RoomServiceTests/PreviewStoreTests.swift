import MixModel
import Testing

@testable import RoomService

/// The lifetime of previews, and the requests that wait for previews in the making.
@Suite struct PreviewStoreTests {
    private static func key(_ number: Int) -> PreviewKey {
        PreviewKey(task: "t", source: SourceID("u\(number)/camera"))
    }

    @Test func onePerIntervalAndSource() throws {
        var store = PreviewStore<Int>(most: 4, interval: .seconds(5))
        let start = ContinuousClock.now
        guard case .make = store.step(for: Self.key(1), at: start) else { Issue.record("not made"); return }
        guard case .wait = store.step(for: Self.key(1), at: start) else { Issue.record("made twice"); return }
        guard case .make = store.step(for: Self.key(2), at: start) else { Issue.record("of another"); return }
        _ = store.made(Self.key(1), .success(7), at: start)
        guard case .take(.success(7)) = store.step(for: Self.key(1), at: start + .seconds(4)) else {
            Issue.record("not kept")
            return
        }
        guard case .make = store.step(for: Self.key(1), at: start + .seconds(5)) else { Issue.record("old"); return }
        #expect(store.last(of: Self.key(1)) == 7, "still known while the next one is made")
        // Failures are kept too.
        _ = store.made(Self.key(1), .failure(.stopping), at: start + .seconds(6))
        guard case .take(.failure(.stopping)) = store.step(for: Self.key(1), at: start + .seconds(7)) else {
            Issue.record("tried with each request")
            return
        }
        #expect(store.last(of: Self.key(1)) == nil)
    }

    @Test func theOldestGoFirst() {
        var store = PreviewStore<Int>(most: 3, interval: .seconds(60))
        let start = ContinuousClock.now
        for number in 0..<100 {
            _ = store.step(for: Self.key(number), at: start)
            _ = store.made(Self.key(number), .success(number), at: start + .milliseconds(number))
            #expect(store.count <= 3)
        }
        #expect((96..<100).map { store.last(of: Self.key($0)) } == [nil, 97, 98, 99])
    }

    @Test(.timeLimit(.minutes(5))) func whoAsksAtTheSameTimeGetsTheSame() async throws {
        let shelf = PreviewShelf<Int>(most: 4, interval: .seconds(60))
        let counter = Counter()
        let values = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await shelf.value(of: Self.key(1)) { () async throws(OrchestratorError) in
                        await counter.next()
                    }
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(values == [1])
    }

    private actor Counter {
        private var count = 0
        func next() async -> Int {
            count += 1
            await Task.yield()
            return count
        }
    }

    @Test func answersOfARelayAreCut() throws {
        let wire = PreviewWire.bytes(of: 3) + [1, 2, 3] + PreviewWire.bytes(of: 0) + PreviewWire.bytes(of: 1) + [9]
        for size in 1...wire.count {
            var answers = PreviewAnswers(count: 3)
            var isWhole = false
            for start in stride(from: 0, to: wire.count, by: size) {
                isWhole = try answers.take(wire[start..<min(start + size, wire.count)])
            }
            #expect(isWhole)
            #expect(try answers.all() == [[1, 2, 3], [], [9]])
        }
        #expect(throws: RelayError.self) {
            var old = PreviewAnswers(count: 1)
            _ = try old.take(Array(#"{"refused":{}}"#.utf8))
        }
        var short = PreviewAnswers(count: 1)
        let isWhole = try short.take([0, 0, 0, 9, 1])
        #expect(!isWhole)
        #expect(throws: RelayError.self) { _ = try short.all() }
    }
}
