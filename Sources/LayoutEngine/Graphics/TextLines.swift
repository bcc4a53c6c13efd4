/// Breaks and shortens text to fit a width, by estimated letter widths.
struct TextLines {
    /// Size of the letters in pixels.
    var size: Int
    var isBold = false
    /// Width of a line in pixels.
    var width: Int

    /// Maximum number of characters shown, which bounds the work for text of any length.
    private static let mostCharacters = 400
    /// Maximum number of code points in one character: enough for every emoji, but not for stacks of accents.
    private static let mostScalars = 16

    /// Returns the text in one line, with an ellipsis if it does not fit. The result is empty if not even the ellipsis
    /// fits.
    func shortened(_ text: String) -> String { shortened(Self.tidied(text)) }

    /// Returns the text in at most `most` lines, broken at spaces where possible. The last line is shortened if text is
    /// left over.
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

    /// Takes as many characters as fit, at least one, and drops the spaces at which the line is broken.
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
        // At a space, or beside a wide character: scripts with wide characters have no spaces.
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

    /// The width available, in thousandths of the letters' size.
    private var available: Int { max(width, 0) * 1000 / max(size, 1) }

    private func measured(_ characters: [Character]) -> Int {
        characters.reduce(0) { $0 + LetterWidths.width(of: $1, isBold: isBold) }
    }

    /// Returns the characters without leading, trailing and repeated spaces: at most `mostCharacters` of the text, each
    /// of limited length.
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
