import MixModel
import TestSupport
import Testing

@testable import EventSubscription

/// The names that may be used for new rooms and participants.
@Suite struct IdentifierRuleTests {
    private func refusal(_ name: String) -> InputError? {
        do throws(InputError) {
            let taken = try EventParser.identifier(name, field: "user")
            return taken.hasSameUTF8(as: name) ? nil : InputError(.invalidField, field: "", expected: "the same bytes")
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "alice", "caf\u{E9}", "\u{AC00}", "\u{1F600}", "\u{600}x", "日本", "x\u{1F3FB}", "\u{1F1E9}\u{1F1EA}",
    ])
    func oneSpellingIsTaken(_ name: String) { #expect(refusal(name) == nil) }

    @Test(arguments: ["cafe\u{301}", "\u{212A}", "\u{1100}\u{1161}", "a\u{301}\u{323}", "\u{37E}x"])
    func otherSpellingsAreRefusedWithTheCure(_ name: String) {
        #expect(refusal(name)?.expected.contains("NFC") == true, "\(name.debugDescription)")
        #expect((try? EventParser.knownIdentifier(name, field: "user"))?.hasSameUTF8(as: name) == true)
    }

    @Test(arguments: ["\u{301}x", "\u{200D}", "\u{FE0F}x", "\u{1F3FB}", "\u{903}", "\u{94D}x", "\u{E0041}", "\u{E33}"])
    func whatJoinsTheCharacterBeforeIsNoBeginning(_ name: String) {
        #expect(refusal(name)?.expected.contains("combining character") == true, "\(name.debugDescription)")
    }

    /// An accepted name does not combine with a separator to one character, and no other spelling of it is accepted.
    @Test func whatIsTakenIsUnmistakable() {
        var generator = SeededGenerator(announcedFor: "whatIsTakenIsUnmistakable")
        var taken: Set<String> = []
        for name in GraphemeClasses.names(random: 5000, using: &generator) where refusal(name) == nil {
            #expect("b/\(name)".split(separator: "/" as Character).first == "b", "\(name.debugDescription)")
            if let same = taken.first(where: { $0 == name }) { #expect(same.hasSameUTF8(as: name)) }
            taken.insert(name)
        }
        #expect(taken.count > 500)
    }

    private func event(_ id: String) throws -> RoomEvent {
        try EventParser(allowList: .loopbackOnly).cloudEvent(
            .object([
                "specversion": .string("1.0"), "id": .string(id), "source": .string("s"), "subject": .string("r"),
                "type": .string("room.opened"),
            ]))
    }

    /// A store that ends text at NUL would treat all of these as one event.
    @Test(arguments: ["1\u{0}2", "\u{0}", "1\n", "\u{7F}", "a\u{85}"])
    func idsOfEventsHoldNoControlCharacters(_ id: String) throws {
        let error = #expect(throws: InputError.self) { try event(id) }
        #expect(error?.field == "id")
        #expect(error?.expected.contains("control characters") == true)
    }

    @Test func idsOfEventsMayBeAnythingElse() throws {
        for id in ["a b", "cafe\u{301}", "\u{301}", "日本"] { #expect(try event(id).id.hasSameUTF8(as: id)) }
    }
}
