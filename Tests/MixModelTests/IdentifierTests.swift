import MixModel
import TestSupport
import Testing

/// Names are compared by their bytes, whatever Unicode considers equal.
@Suite struct IdentifierTests {
    private let composed: RoomID = "caf\u{E9}"
    private let decomposed: RoomID = "cafe\u{301}"

    private func areSame<Value: Equatable>(_ left: Value, _ right: Value) -> Bool { left == right }

    @Test func twoSpellingsAreTwoNames() {
        #expect(composed.rawValue == decomposed.rawValue, "to the standard library they are one")
        #expect(composed != decomposed)
        #expect(!(composed == decomposed))
        #expect(!areSame(composed, decomposed))
        #expect(!areSame([composed], [decomposed]))
        #expect(!areSame(Optional(composed), decomposed))
        #expect(Set([composed, decomposed]).count == 2)
        #expect([composed: 1, decomposed: 2][decomposed] == 2)
        #expect([composed].firstIndex(of: decomposed) == nil)
        #expect(SourceID(user: "\u{E9}", stream: .camera) != SourceID(user: "e\u{301}", stream: .camera))
    }

    @Test func orderIsThatOfTheBytes() {
        var generator = SeededGenerator(announcedFor: "orderIsThatOfTheBytes")
        let names = GraphemeClasses.names(random: 500, using: &generator)
        let sorted = names.map { RoomID($0) }.sorted().map { Array($0.rawValue.utf8) }
        #expect(sorted == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }

    /// A name keeps its bytes next to separators, whatever characters it begins and ends with.
    @Test func partsComeOutAsTheyWentIn() {
        var generator = SeededGenerator(announcedFor: "partsComeOutAsTheyWentIn")
        for name in GraphemeClasses.names(random: 500, using: &generator) where !name.utf8.contains(UInt8(ascii: "/")) {
            let room = RoomID(app: "b", name: name)
            #expect(room.app == "b" && room.name.hasSameUTF8(as: name), "\(name.debugDescription)")
            #expect(RoomID(app: .standard, name: name).app == .standard)
            let task = TaskID.automatic(for: room)
            #expect(task.app == "b" && task.name.hasSameUTF8(as: "auto-" + name))
            let source = SourceID(user: UserID(name), stream: .screen)
            #expect(source.user == UserID(name), "\(name.debugDescription)")
            let foreign = SourceID(user: UserID(name), stream: .camera, room: room, tracks: .audio)
            #expect(foreign.user == UserID(name))
            #expect(foreign.whole == SourceID(user: UserID(name), stream: .camera, room: room, tracks: .all))
        }
    }
}
