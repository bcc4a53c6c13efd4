import Foundation
import MixModel
import Testing

@testable import RoomChannel

@Suite struct WordListTests {
    @Test(arguments: [
        "darn", "DARN it", "well, darn!", "d\u{200B}a\u{200D}r\u{2060}n", "d\u{AD}arn", "ｄａｒｎ", "𝐝𝐚𝐫𝐧", "da\u{301}rn",
        "Ⓓarn", "\u{202E}darn", "oh (darn)",
    ])
    func findsAWordHoweverItIsWritten(_ text: String) throws {
        #expect(try WordList(["Darn"]).matches(text))
    }

    @Test(arguments: ["darning", "barndarn", "dar n", "", "dаrn"])
    func leavesOtherWordsAlone(_ text: String) throws {
        #expect(try !WordList(["darn"]).matches(text))
    }

    @Test func findsPhrasesAndScriptsWithoutSpaces() throws {
        let words = try WordList(["buy followers", "広告", "Straße"])
        #expect(words.matches("BUY   followers!"))
        #expect(words.matches("please buy\nfollowers"))
        #expect(!words.matches("buy more followers") && !words.matches("rebuy followers"))
        #expect(words.matches("これは広告です"))
        #expect(words.matches("die straße"))
        #expect(words.words == ["buy followers", "広告", "Straße"])
    }

    @Test func isLimited() throws {
        #expect(throws: ChannelRefusal.self) { try WordList(Array(repeating: "a", count: 501)) }
        #expect(throws: ChannelRefusal.self) { try WordList([String(repeating: "a", count: 129)]) }
        for empty in ["", " ", "!?", "\u{200B}"] {
            #expect(throws: ChannelRefusal.self) { try WordList([empty]) }
        }
        #expect(try WordList((0..<500).map { "word\($0)" }).matches("a word499"))
    }

    @Test func worksOnExpandingText() throws {
        // This single scalar expands to eighteen.
        let text = String(repeating: "\u{FDFA}", count: 500)
        #expect(try !WordList(["darn", "広告"]).matches(text))
    }

    @Test func refusesWordsInNamesAndTexts() throws {
        var machine = ChannelMachine(rules: ChannelRules(words: try WordList(["darn"])), now: 0)
        for (name, text) in [("Darn", "hello"), ("Alice", "darn")] {
            #expect(throws: ChannelRefusal.forbiddenWord) {
                try machine.send(
                    ChannelDraft(kind: .comment, text: text),
                    from: ChannelSender(user: "alice", name: name, address: ""), now: 0, wallClock: 0)
            }
        }
        _ = try machine.change(slowMode: nil, words: [])
        _ = try machine.send(
            ChannelDraft(kind: .comment, text: "darn"), from: ChannelSender(user: "alice", address: ""), now: 0,
            wallClock: 0)
    }
}

@Suite struct ChannelGiftTests {
    @Test func isBounded() {
        let many = Dictionary(uniqueKeysWithValues: (0..<17).map { ("\($0)", ChannelGift.Value.flag(true)) })
        #expect(ChannelGift(many) == nil)
        #expect(ChannelGift(["text": .text(String(repeating: "x", count: 1020))]) != nil)
        #expect(ChannelGift(["text": .text(String(repeating: "x", count: 1021))]) == nil)
        #expect(ChannelGift(["n": .number(.infinity)]) == nil)
    }

    @Test func isWrittenInOrderAndReadBack() throws {
        let gift = try #require(
            ChannelGift(["price": .number(3), "id": .text("rose"), "big": .flag(true), "x": .number(0.5)]))
        #expect(try DocumentEncoder.json(gift) == #"{"big":true,"id":"rose","price":3,"x":0.5}"#)
    }

    @Test(arguments: [-0x1p63, 0x1p63, -0x1p53, 0x1p53, 1 - 0x1p53, 1e300, -1e-300]) func anyNumberIsWritten(
        number: Double
    ) throws {
        let gift = try #require(ChannelGift(["n": .number(number)]))
        let text = try DocumentEncoder.json(gift)
        #expect(try JSONDecoder().decode(ChannelGift.self, from: Data(text.utf8)) == gift, "\(text)")
    }
}
