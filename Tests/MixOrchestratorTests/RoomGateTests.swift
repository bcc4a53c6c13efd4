import Synchronization
import Testing

@testable import MixOrchestrator

/// One at a time works in a room, and nobody is forgotten in front of it.
@Suite(.timeLimit(.minutes(1))) struct RoomGateTests {
    /// Who is at work, and how often somebody was.
    private final class Watch: Sendable {
        private let state = Mutex((atWork: 0, most: 0, done: 0))

        func begin() {
            state.withLock { state in
                state.atWork += 1
                state.most = max(state.most, state.atWork)
            }
        }

        func end() {
            state.withLock { state in
                state.atWork -= 1
                state.done += 1
            }
        }

        var most: Int { state.withLock { $0.most } }
        var done: Int { state.withLock { $0.done } }
    }

    private static func restingGate(limit: Int = 10) -> RoomGate {
        let gate = RoomGate(limit: limit)
        _ = gate.endWork(isDispensable: false, isGone: false)
        return gate
    }

    @Test func untilTheLoopIsReadyRequestsWait() {
        let gate = RoomGate(limit: 10)
        #expect(gate.enter() == .admitted)
    }

    @Test func theFirstOneWorksAndTheNextOnesWait() {
        let gate = Self.restingGate(limit: 2)
        #expect(gate.enter() == .alone)
        #expect(gate.enter() == .admitted)
        #expect(gate.enter() == .full)
        _ = gate.endWork(isDispensable: false, isGone: false)
        gate.leave()
        // Whoever waits is before the next one.
        #expect(gate.enter() == .admitted)
    }

    @Test func theLoopWaitsForARequestAtWork() async {
        let gate = Self.restingGate()
        #expect(gate.enter() == .alone)
        let watch = Watch()
        watch.begin()
        await withTaskGroup { group in
            group.addTask {
                await gate.beginWork()
                watch.begin()
            }
            for _ in 0..<100 { await Task.yield() }
            watch.end()
            // Offered only when nobody goes on.
            _ = gate.endWork(isDispensable: true, isGone: false)
            gate.leave()
            await group.waitForAll()
        }
        #expect(watch.most == 1)
        #expect(!gate.closeAtRest(), "the loop is at work")
        #expect(gate.enter() == .admitted)
        gate.leave()
        #expect(gate.endWork(isDispensable: true, isGone: false))
        #expect(gate.closeAtRest())
        #expect(gate.enter() == .closed)
    }

    /// Many requests and the loop, by chance: never two at once, and all get their turn.
    @Test func neverTwoAtOnce() async {
        let gate = Self.restingGate(limit: 1000)
        let (mailbox, inbox) = AsyncStream.makeStream(of: Void.self)
        let watch = Watch()
        @Sendable func work() async {
            watch.begin()
            await Task.yield()
            watch.end()
            _ = gate.endWork(isDispensable: false, isGone: false)
        }
        await withTaskGroup { group in
            group.addTask {
                for await _ in mailbox {
                    await gate.beginWork()
                    await work()
                    gate.leave()
                }
            }
            await withTaskGroup { requests in
                for _ in 0..<500 {
                    requests.addTask {
                        switch gate.enter() {
                        case .alone:
                            await work()
                            gate.leave()
                        case .admitted: inbox.yield(())
                        case .full, .closed: Issue.record("not let in")
                        }
                    }
                }
            }
            inbox.finish()
        }
        #expect(watch.most == 1 && watch.done == 500)
    }
}
