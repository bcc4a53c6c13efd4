import MixModel
import Testing

@testable import RoomService

/// Addresses of sessions at other nodes.
@Suite struct SessionHomesTests {
    private static let id = "0123456789abcdef0123456789abcdef"

    @Test func aServiceAloneHasNoMarks() async throws {
        let homes = SessionHomes()
        #expect(homes.address(of: Self.id) == Self.id)
        // A text that is not an identifier stays unchanged.
        for text in [Self.id, Self.id + "01234567", "", "x"] { #expect(try await homes.identifier(of: text) == text) }
        try await homes.takePublisher(of: "demo")
    }

    @Test func aMarkIsTakenOffAtTheEnd() {
        #expect(SessionHomes.identifier(in: Self.id) == Self.id)
        #expect(SessionHomes.identifier(in: Self.id + SessionHomes.mark(of: "a")) == Self.id)
        for text in ["", "x", Self.id + "0", Self.id + "012345678", "\u{301}"] {
            #expect(SessionHomes.identifier(in: text) == text)
        }
    }

    @Test func namesHaveMarksOfTheirOwn() {
        let marks = (0..<1000).map { SessionHomes.mark(of: "node-\($0)") }
        #expect(Set(marks).count == 1000)
        #expect(marks.allSatisfy { $0.utf8.count == 8 && WorkerID.hasOnlyDigits($0) })
    }
}
