import TestSupport
import Testing

@testable import LayoutEngine

/// Texts from viewers, which are drawn on the picture.
struct ForeignTextTests {
    private func line(_ text: String, _ characters: Int = 20, _ bytes: Int = 200) -> String {
        ForeignText.line(text, characters: characters, bytes: bytes)
    }

    @Test(arguments: [
        ("Hello", "Hello"), ("  Hello \n\t world \r\n", "Hello world"), ("", ""), (" \u{3000}\u{2028} ", ""),
        ("a\u{0}b\u{7}c\u{1B}[31m\u{9B}d", "abc[31md"), ("a\u{202E}gpj.exe\u{202C}", "agpj.exe"),
        ("\u{2066}x\u{2069}\u{200E}\u{200F}\u{61C}\u{FEFF}y", "xy"), ("a\u{AD}b\u{200B}c\u{E001}d\u{FFFE}", "abcd"),
        ("👨‍👩‍👧‍👦 ☺️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👨‍👩‍👧‍👦 ☺️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿"), ("नमस्ते שלום", "नमस्ते שלום"), ("\u{301}\u{301}a", "a"),
        ("{title} <b> & \"", "{title} <b> & \""),
        ("\u{200D}\u{200D}", ""),
    ])
    func itIsOneLineWithoutControls(text: String, expected: String) { #expect(line(text) == expected) }

    @Test func itIsCutWithAnEllipsis() {
        #expect(line("abcdef", 6) == "abcdef")
        #expect(line("abcdefg", 6) == "abcde…")
        #expect(line("abcd efg", 6) == "abcd…")
        #expect(line("ééééé", 20, 9) == "ééé…")
        #expect(line("👨‍👩‍👧‍👦", 20, 10) == "…")
    }

    @Test func marksDoNotPileUp() {
        let zalgo = "a" + String(repeating: "\u{301}", count: 500)
        #expect(line(zalgo).unicodeScalars.count == 12)
        let split = "a" + String(repeating: "\u{202E}\u{301}", count: 50)
        #expect(line(split) == "a")
        #expect(line("a" + String(repeating: " \u{301}", count: 50)) == "a")
    }

    @Test func anythingStaysWithinItsBounds() {
        var random = SeededGenerator(announcedFor: "foreign texts")
        for _ in 0..<300 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<80, using: &random) {
                let ranges: [ClosedRange<UInt32>] = [
                    0...0x7F, 0x300...0x36F, 0x590...0x6FF, 0x2000...0x206F, 0x1F300...0x1F9FF, 0xE000...0x10FFFF,
                ]
                let range = ranges.randomElement(using: &random) ?? 0...0
                guard let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) else { continue }
                text.unicodeScalars.append(scalar)
            }
            let (characters, bytes) = (Int.random(in: 1...30, using: &random), Int.random(in: 4...80, using: &random))
            let line = ForeignText.line(text, characters: characters, bytes: bytes)
            #expect(line.utf8.count <= bytes, "\(text.unicodeScalars.map(\.value))")
            #expect(line.count <= characters, "\(text.unicodeScalars.map(\.value))")
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || 0x202A...0x202E ~= $0.value })
        }
    }
}
