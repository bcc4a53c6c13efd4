import Testing

@testable import MixModel

@Suite struct DebounceTests {
    private func cause(_ number: Int) -> Cause { Cause(receivedAt: Int64(number), summary: "\(number)") }

    @Test func changesAreHeldBackUntilTheEndOfTheWindow() {
        #expect(Debounce.open.end(at: 0) == nil)
        let quiet = Debounce.quiet(until: 300)
        #expect(quiet.end(at: 299) == 300)
        #expect(quiet.end(at: 300) == nil, "the end is outside the window")
        #expect(Debounce.holding(until: 300, causes: [cause(1)], deadline: 1).end(at: 299) == 300)
    }

    @Test func onlyAHoldingWindowTakesMoreCauses() {
        var debounce = Debounce.quiet(until: 300)
        let isHeld = debounce.add(cause(1))
        #expect(!isHeld)
        #expect(debounce == .quiet(until: 300))
        debounce = .holding(until: 300, causes: [cause(1)], deadline: 1)
        for number in 2...20 {
            let isHeld = debounce.add(cause(number))
            #expect(isHeld)
        }
        // The oldest and the newest causes are kept.
        let causes = debounce.release()
        #expect(causes.map(\.receivedAt) == [1, 2, 3, 4, 5, 6, 7, 20])
    }

    @Test func aReleaseLeavesTheWindow() {
        var debounce = Debounce.holding(until: 300, causes: [cause(1)], deadline: 1)
        #expect(debounce.release() == [cause(1)])
        #expect(debounce == .quiet(until: 300))
        #expect(debounce.release().isEmpty)
        #expect(debounce.pass(deadline: 1) == nil, "nothing is left to plan")
    }

    @Test func onlyTheAwaitedDeadlineEndsTheWindow() {
        var debounce = Debounce.holding(until: 300, causes: [cause(1), cause(2)], deadline: 7)
        #expect(debounce.pass(deadline: 6) == nil)
        #expect(debounce.end(at: 0) == 300)
        #expect(debounce.pass(deadline: 7) == [cause(1), cause(2)])
        #expect(debounce == .open)
    }
}
