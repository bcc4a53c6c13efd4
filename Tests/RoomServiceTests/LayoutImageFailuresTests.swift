import Testing

@testable import RoomService

struct LayoutImageFailuresTests {
    @Test func aFailureIsKeptUntilTheImageIsShownOrNamedByNoLayout() {
        var failures = LayoutImageFailures()
        #expect(failures.isEmpty && failures.last == 0)
        failures.failed("a", "image a does not exist")
        failures.failed("b", "image b does not exist")
        failures.failed("a", "image a cannot be read")
        let all = failures.of(["a", "b", "c"], after: 0)
        #expect(all.map(\.message) == ["image b does not exist", "image a cannot be read"])
        #expect(failures.of(["a"], after: 0).map(\.number) == [3])
        failures.shown("a")
        #expect(failures.of(["a", "b"], after: 0).map(\.message) == ["image b does not exist"])
        failures.keep(only: ["a"])
        #expect(failures.isEmpty)
    }

    @Test func nobodyIsToldOfAFailureTwice() {
        var failures = LayoutImageFailures()
        failures.failed("a", "image a does not exist")
        let known = failures.last
        #expect(failures.of(["a"], after: known).isEmpty)
        failures.shown("a")
        failures.failed("a", "image a does not exist")
        #expect(failures.of(["a"], after: known).count == 1, "it has failed anew")
    }
}
