import Testing

@testable import RTMP

@Suite struct DeadlineBoundTests {
    private final class Timer {
        var deadline: Int64
        init(_ deadline: Int64) { self.deadline = deadline }
    }

    private static func isDoubtful(_ bound: DeadlineBound<Timer>, at now: Int64) -> Bool {
        bound.isDoubtful(at: now) { $0.deadline }
    }

    @Test func theBoundIsTheEarliestDeadline() {
        var bound = DeadlineBound<Timer>()
        #expect(bound.time == .max && !Self.isDoubtful(bound, at: 0))
        let timers = [300, 100, 200].map { Timer($0) }
        for timer in timers { bound.expect(timer.deadline, of: timer) }
        #expect(bound.time == 100)
        timers[2].deadline = 50
        bound.expect(50, of: timers[2])
        #expect(bound.time == 50)
        #expect(!Self.isDoubtful(bound, at: 0) && !Self.isDoubtful(bound, at: 60))
    }

    @Test func aPostponedDeadlineIsNotWaitedFor() {
        var bound = DeadlineBound<Timer>()
        let near = DeadlineBound<Timer>.near
        let timer = Timer(2 * near)
        bound.expect(timer.deadline, of: timer)
        timer.deadline = 3 * near
        #expect(bound.time == 2 * near, "postponing costs nothing")
        #expect(!Self.isDoubtful(bound, at: near), "something else ends a long wait")
        #expect(Self.isDoubtful(bound, at: near + 1))
        bound = DeadlineBound()
        bound.expect(timer.deadline, of: timer)
        #expect(bound.time == 3 * near && !Self.isDoubtful(bound, at: 3 * near - 1))
    }

    @Test func aForgottenHolderIsReleasedAndNotWaitedFor() {
        var bound = DeadlineBound<Timer>()
        weak var released: Timer?
        do {
            let (timer, other) = (Timer(10), Timer(20))
            bound.expect(timer.deadline, of: timer)
            released = timer
            bound.forget(other)
            #expect(!Self.isDoubtful(bound, at: 0))
            bound.forget(timer)
        }
        #expect(released == nil)
        #expect(Self.isDoubtful(bound, at: 0))
    }

    /// A deadline that every packet postpones: the loop looks at all deadlines a few times a second, and never waits for one
    /// that does not pass.
    @Test func packetsThatPostponeADeadlineCauseFewLooks() {
        var bound = DeadlineBound<Timer>()
        let timer = Timer(.max)
        var looks = 0
        for now in stride(from: Int64(0), to: 1_000_000_000, by: 20_000_000) {
            timer.deadline = now + 120_000_000
            bound.expect(timer.deadline, of: timer)
            if Self.isDoubtful(bound, at: now) {
                looks += 1
                bound = DeadlineBound()
                bound.expect(timer.deadline, of: timer)
            }
            #expect(bound.time > now + 20_000_000, "the next packet comes before the wait ends")
        }
        #expect(looks <= 12)
    }
}
