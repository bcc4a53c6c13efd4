import TestSupport
import Testing

@testable import LayoutEngine

struct GraphicTextTests {
    @Test func shortTextsStayAsTheyAre() {
        let line = TextLines(size: 20, width: 200)
        #expect(line.shortened("Ada Lovelace") == "Ada Lovelace")
        #expect(line.shortened("  Ada \n\t Lovelace ") == "Ada Lovelace")
        #expect(line.shortened("") == "")
    }

    @Test func longTextsEndInAnEllipsisAndFit() {
        let line = TextLines(size: 20, width: 200)
        #expect(line.shortened("Bartholomew Maximilian") == "Bartholomew Max…")
        // The space before the ellipsis is removed too.
        #expect(line.shortened("Bartholomewww Maximilian").hasSuffix("www…"))
        #expect(TextLines(size: 20, width: 13).shortened("Bartholomew") == "")
        #expect(TextLines(size: 20, width: 14).shortened("Bartholomew") == "…")
        #expect(TextLines(size: 20, width: 0).shortened("B") == "")
    }

    @Test func chineseTakesTwiceTheRoom() {
        #expect(LetterWidths.width(of: "王小明") == 3300)
        #expect(LetterWidths.width(of: "iii") == 834)
        #expect(TextLines(size: 20, width: 100).shortened("北京市朝阳区") == "北京市…")
        // Marks on a letter have no width.
        #expect(LetterWidths.width(of: "e\u{301}") == LetterWidths.width(of: "é") - 105)
        #expect(LetterWidths.width(of: "👨‍👩‍👧‍👦") == 1100)
    }

    @Test func linesBreakAtSpacesAndBetweenWideCharacters() {
        let lines = TextLines(size: 10, width: 70)
        #expect(lines.wrapped("on air since noon", most: 5) == ["on air since", "noon"])
        #expect(lines.wrapped("on air since noon", most: 1) == ["on air since…"])
        #expect(lines.wrapped("北京市朝阳区建国路", most: 5) == ["北京市朝阳区", "建国路"])
        #expect(lines.wrapped("Llanfairpwllgwyngyll", most: 3) == ["Llanfairpwllg", "wyngyll"])
        #expect(lines.wrapped("a\n\nb", most: 3) == ["a", "", "b"])
        #expect(lines.wrapped("a b", most: 0) == [])
        #expect(TextLines(size: 100, width: 1).wrapped("ab", most: 9) == ["a", "b"])
    }

    @Test func everyLineFitsAndNothingIsLostBeforeTheLast() {
        for seed in UInt64(1)...300 {
            var random = SeededGenerator(seed: seed)
            let alphabet = Array("ab W.界é👍🏽م ")
            let text = String(
                (0..<Int.random(in: 0...120, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" }
            )
            let lines = TextLines(
                size: Int.random(in: 8...20, using: &random), isBold: seed.isMultiple(of: 2),
                width: Int.random(in: 40...300, using: &random))
            let broken = lines.wrapped(text, most: 1000)
            for line in broken {
                #expect(
                    LetterWidths.width(of: line, isBold: lines.isBold) * lines.size <= lines.width * 1000,
                    "seed \(seed): \(line)")
            }
            #expect(broken.joined().filter { $0 != " " } == text.filter { $0 != " " }, "seed \(seed)")
            let short = lines.shortened(text)
            #expect(
                LetterWidths.width(of: short, isBold: lines.isBold) * lines.size <= lines.width * 1000, "seed \(seed)")
        }
    }

    @Test func workIsBoundedForTextsOfAnyLength() {
        let towers = String(repeating: "e" + String(repeating: "\u{301}", count: 1000), count: 1000)
        let line = TextLines(size: 1, width: 32_768).shortened(towers)
        #expect(line.unicodeScalars.count <= 400 * 16)
        #expect(TextLines(size: 1, width: 32_768).shortened(String(repeating: "i", count: 1_000_000)).count == 400)
    }
}
