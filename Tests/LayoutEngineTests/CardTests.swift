import LayoutEngine
import Testing

struct CardTests {
    @Test(arguments: [
        ("Ada Lovelace", "AL"), ("ada", "A"), ("Jean-Luc van der Berg", "JB"), ("  bob  ", "B"), ("user42", "U"),
        ("4 you", "4Y"), ("", ""), ("…!?", ""), ("O'Hara", "O"), ("Liam O’Neill", "LO"), ("1️⃣ Kim", "K"),
        ("👩🏽‍💻 (Ann)", "A"), ("Élodie Zoé", "ÉZ"), ("陈晓明", "陈"), ("陈 晓明", "陈晓"),
        ("Фёдор достоевский", "ФД"), ("straße", "S"), ("ßa", "SS"), ("ﬁ", "FI"), ("🎤 Mic", "M"),
        ("e\u{301}va", "E\u{301}"),
        ("عمر الخيام", "عا"), ("\u{0}\n", ""),
    ])
    func initialsAreOfTheFirstAndTheLastWord(name: String, initials: String) {
        #expect(Card(name: name, user: "u").initials == initials)
    }

    /// Names in ASCII are read in a faster way, which must give the same result.
    @Test func bothWaysToReadANameAgree() {
        let letters = ["a", "Z", "9", " ", "-", "'", "\u{7F}", "@", "[", "`", "{", "_"]
        for first in letters {
            for second in letters {
                for third in letters {
                    let name = first + second + third
                    // The mark at the end belongs to no word and makes the name take the slow way.
                    let other = Card(name: name + " \u{2026}", user: "u").initials
                    #expect(Card(name: name, user: "u").initials == other, "\(name)")
                }
            }
        }
    }

    /// A connecting source is shown as a surface, which a card replaces without a flash.
    @Test func theGroundIsTheCardsOwn() {
        let card = Card(name: "Ada", user: "u")
        #expect(card.ground == card.colour)
        let dark = Card(name: "Ada", user: "u", style: .gradient)
        #expect(dark.ground != dark.colour && dark.ground.red <= dark.colour.red)
        #expect(dark.ground.green <= dark.colour.green && dark.ground != .black)
    }

    @Test func colourIsTheUsersOwn() {
        #expect(Card(name: "A", user: "u1").colour == Card(name: "B", user: "u1").colour)
        #expect(Set((0..<100).map { Card(name: "", user: "user\($0)").colour }).count == 12)
    }
}
