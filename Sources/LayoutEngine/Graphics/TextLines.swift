/// Breaks and shortens texts so that they fit, by estimated widths.
struct TextLines {
    /// Of the letters, in pixels.
    var size: Int
    var isBold = false
    /// In pixels.
    var width: Int

    /// Nothing longer is ever shown; bounds the work for texts of any length.
    private static let mostCharacters = 400
    /// Code points of one character: enough for every emoji, not for towers of accents.
    private static let mostScalars = 16

    /// The text in one line, with an ellipsis where it does not fit. Empty when not even that fits.
    func shortened(_ text: String) -> String { shortened(Self.tidied(text)) }

    /// The text in at most `most` lines, broken at spaces where possible; what is left over is shortened.
    func wrapped(_ text: String, most: Int) -> [String] {
        guard most > 0 else { return [] }
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false).prefix(most) {
            var rest = Self.tidied(paragraph)[...]
            repeat {
                if lines.count == most - 1 { return lines + [shortened(Array(rest))] }
                lines.append(String(takeLine(&rest)))
            } while !rest.isEmpty
        }
        return lines
    }

    private func shortened(_ characters: [Character]) -> String {
        guard measured(characters) > available else { return String(characters) }
        var room = available - LetterWidths.width(of: "…", isBold: isBold)
        guard room >= 0 else { return "" }
        let kept = characters.prefix { character in
            room -= LetterWidths.width(of: character, isBold: isBold)
            return room >= 0
        }
        let trimmed = kept.reversed().drop { $0 == " " }.reversed()
        return String(trimmed) + "…"
    }

    /// As many characters as fit, at least one; the space at which a line is broken disappears.
    private func takeLine(_ rest: inout ArraySlice<Character>) -> ArraySlice<Character> {
        var room = available
        let fitting = rest.prefix { character in
            room -= LetterWidths.width(of: character, isBold: isBold)
            return room >= 0
        }
        guard fitting.count < rest.count else {
            defer { rest = [] }
            return rest
        }
        // After a space, or between two characters of which one is wide: such scripts have no spaces.
        let breaks = (rest.startIndex + 1..<max(fitting.endIndex, rest.startIndex + 1) + 1).last { index in
            index < rest.endIndex && (rest[index] == " " || isWide(rest[index]) || isWide(rest[index - 1]))
        }
        let end = breaks ?? max(fitting.endIndex, rest.startIndex + 1)
        let line = rest[..<end]
        rest = rest[end...].drop { $0 == " " }
        return line
    }

    private func isWide(_ character: Character) -> Bool {
        character.unicodeScalars.first.map(LetterWidths.isWide) ?? false
    }

    /// In thousandths of the letters' size, as widths are.
    private var available: Int { max(width, 0) * 1000 / max(size, 1) }

    private func measured(_ characters: [Character]) -> Int {
        characters.reduce(0) { $0 + LetterWidths.width(of: $1, isBold: isBold) }
    }

    /// Without leading, trailing and double spaces, and in characters of a bounded length.
    private static func tidied(_ text: some StringProtocol) -> [Character] {
        var characters: [Character] = []
        for character in text.prefix(mostCharacters) {
            let plain = character.isWhitespace ? " " : character
            if plain == " ", characters.last == " " || characters.isEmpty { continue }
            let scalars = plain.unicodeScalars
            characters +=
                scalars.count <= mostScalars
                ? [plain] : Array(String(String.UnicodeScalarView(scalars.prefix(mostScalars))))
        }
        if characters.last == " " { characters.removeLast() }
        return characters
    }
}
