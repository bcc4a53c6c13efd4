import LayoutEngine
import MixModel
import Testing

@testable import RoomService

/// The times at which pictures take up the values of their rooms' channels.
@Suite struct ProgramValuesTests {
    private static let second: Int64 = 1_000_000_000

    @Test func whatNoLayoutShowsIsNotKept() {
        let values = ProgramValues()
        values.set(LayoutValues(viewers: 3), of: "demo")
        #expect(values.values(of: "demo") == LayoutValues())
        #expect(values.takeDue(at: 0).isEmpty && !values.isAnyShown)
        values.show(.viewers, in: "demo")
        #expect(values.shown(in: "demo") == .viewers && values.shown(in: "other") == [])
        values.set(LayoutValues(viewers: 3, likes: 9, comment: "x"), of: "demo")
        #expect(values.values(of: "demo") == LayoutValues(viewers: 3))
        values.show([], in: "demo")
        #expect(values.values(of: "demo") == LayoutValues() && !values.isAnyShown && values.takeNew().isEmpty)
    }

    @Test func theLastValueAlwaysArrives() {
        let values = ProgramValues()
        values.show([.viewers, .comment], in: "demo")
        #expect(values.takeNew() == ["demo"] && values.takeNew().isEmpty)
        values.set(LayoutValues(viewers: 1), of: "demo")
        #expect(values.takeDue(at: 5 * Self.second) == ["demo"])
        var told = 0
        // The value changes every tenth of a second for ten seconds.
        for tenth in 1...100 {
            values.set(LayoutValues(viewers: tenth), of: "demo")
            told += values.takeDue(at: 5 * Self.second + Int64(tenth) * Self.second / 10).count
        }
        #expect(told == 10)
        values.set(LayoutValues(viewers: 7), of: "demo")
        #expect(values.takeDue(at: 15 * Self.second + 900_000_000).isEmpty)
        #expect(values.takeDue(at: 16 * Self.second) == ["demo"])
        #expect(values.values(of: "demo") == LayoutValues(viewers: 7))
        #expect(values.takeDue(at: 20 * Self.second).isEmpty, "nothing has changed")
        // A value that has returned to the old one is no change.
        values.set(LayoutValues(viewers: 8), of: "demo")
        values.set(LayoutValues(viewers: 7, likes: 4), of: "demo")
        #expect(values.takeDue(at: 30 * Self.second).isEmpty)
    }

    @Test func roomsAreToldApart() {
        let values = ProgramValues()
        for room in ["a", "b"] as [RoomID] {
            values.show(.likes, in: room)
            values.set(LayoutValues(likes: 1), of: room)
        }
        #expect(Set(values.takeDue(at: 0)) == ["a", "b"])
        values.set(LayoutValues(likes: 2), of: "b")
        #expect(values.takeDue(at: 2 * Self.second) == ["b"])
        // A layout that shows other values starts anew.
        values.show([.likes, .viewers], in: "a")
        #expect(values.takeNew() == ["a", "b"])
        #expect(Set(values.rooms) == ["a", "b"])
    }
}
