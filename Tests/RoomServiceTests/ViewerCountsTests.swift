import MixModel
import Testing

@testable import RoomService

/// Numbers of viewers, of which some are at other nodes.
@Suite struct ViewerCountsTests {
    private let task: TaskID = "auto-demo"

    @Test func viewersAtOtherNodesCount() throws {
        let counts = ViewerCounts()
        let own = try counts.enter(task)
        counts.setElsewhere([task: 2])
        counts.set(9, of: task, at: "b")
        #expect(counts.viewers(of: task) == 3, "the node b reads nothing")

        var readers = [try counts.enter(task, for: "b"), try counts.enter(task, for: "b")]
        #expect(counts.viewers(of: task) == 5, "it does not say how many it has")
        _ = counts.takeChanged()
        counts.set(40, of: task, at: "b")
        #expect(counts.viewers(of: task) == 43 && counts.takeChanged() == [task])
        counts.set(40, of: task, at: "b")
        #expect(counts.takeChanged().isEmpty, "nothing has changed")
        let other = try counts.enter(task, for: "c")
        #expect(counts.viewers(of: task) == 44)
        #expect(counts.viewersAtNode(of: task) == 3 && counts.viewersHere(of: task) == 4)
        #expect(counts.viewers(of: "another") == 0 && counts.viewersAtNode(of: "another") == 0)

        readers.removeLast()
        #expect(counts.viewers(of: task) == 44, "it still reads")
        readers.removeAll()
        #expect(counts.viewers(of: task) == 4, "it has stopped")
        withExtendedLifetime((own, other)) {}
    }

    @Test func numbersOfOtherNodesAreBounded() throws {
        let counts = ViewerCounts()
        let reader = try counts.enter(task, for: "b")
        counts.set(.max, of: task, at: "b")
        #expect(counts.viewers(of: task) == 1 << 20)
        counts.set(-7, of: task, at: "b")
        #expect(counts.viewers(of: task) == 0)
        withExtendedLifetime(reader) {}
    }

    /// Half of the places are kept for the apps, the same number for each, whoever serves their viewers.
    @Test func anAppLeavesOthersTheirPlaces() throws {
        let counts = ViewerCounts(limits: ViewerCounts.Limits(all: 8, apps: [.standard, "shop"]))
        let other = TaskID(app: "shop", name: "auto-demo")
        counts.setElsewhere([task: 3])
        var places = try (0..<3).map { _ in try counts.enter(task) }
        let refusal = #expect(throws: OrchestratorError.self) { try counts.enter(task) }
        let words = try #require(refusal).detail
        #expect(words.hasPrefix("the app default has 6 of this service's 8 places"), "\(words)")
        #expect(words.hasSuffix("raise playback.maxViewers"), "\(words)")
        #expect(throws: OrchestratorError.self) { try counts.enterElsewhere(task) }
        let others = [try counts.enter(other)]
        try counts.enterElsewhere(other)
        #expect(throws: OrchestratorError.self) { try counts.enter(other) }
        places.removeLast()
        counts.setElsewhere([task: 2])
        let last = try counts.enter(other)
        #expect(counts.total == 6)
        withExtendedLifetime((places, others, last)) {}
    }

    /// A node that reads takes one place, however many viewers it has.
    @Test func limitsAreThoseOfTheNode() throws {
        let counts = ViewerCounts(limits: ViewerCounts.Limits(perProgram: 2))
        let reader = try counts.enter(task, for: "b")
        counts.set(100, of: task, at: "b")
        let viewer = try counts.enter(task)
        #expect(throws: OrchestratorError.self) { try counts.enter(task) }
        #expect(counts.viewers(of: task) == 101 && counts.total == 2)
        withExtendedLifetime((reader, viewer)) {}
    }
}
