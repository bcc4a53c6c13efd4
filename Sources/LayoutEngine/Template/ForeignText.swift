/// Untrusted text, made fit for drawing: one line, without control characters and without anything that changes the
/// direction or the look of its surroundings.
public enum ForeignText {
    /// Maximum number of scalars in one character. The longest emoji have ten.
    static let mostScalars = 12

    /// Returns the text in at most the given number of characters and bytes of UTF-8. A text that is cut ends with an
    /// ellipsis.
    ///
    /// - Parameters:
    ///   - text: Any text.
    ///   - characters: Maximum number of characters, as perceived by readers.
    ///   - bytes: Maximum number of bytes of UTF-8, at least 4.
    public static func line(_ text: String, characters: Int, bytes: Int) -> String {
        var line = ""
        var (count, size) = (0, 0)
        var isSpaceDue = false
        for character in text {
            let scalars = character.unicodeScalars.prefix(mostScalars).filter { !isHidden($0) }
            guard !scalars.contains(where: isSpace) else {
                isSpaceDue = count > 0
                continue
            }
            // A mark without a letter would be drawn over the letter before it.
            guard let first = scalars.first, !isMark(first) else { continue }
            var piece = isSpaceDue ? " " : ""
            piece.unicodeScalars.append(contentsOf: scalars)
            let length = isSpaceDue ? 2 : 1
            guard count + length <= characters, size + piece.utf8.count <= bytes else {
                return shortened(line, characters: characters, bytes: bytes)
            }
            line += piece
            (count, size, isSpaceDue) = (count + length, size + piece.utf8.count, false)
        }
        return line
    }

    /// Returns the text cut to its maximum length, with an ellipsis in place of its end.
    private static func shortened(_ line: String, characters: Int, bytes: Int) -> String {
        var line = line[...]
        while !line.isEmpty, line.count >= characters || line.utf8.count + 3 > bytes { line = line.dropLast() }
        while line.last == " " { line = line.dropLast() }
        return line + "…"
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .spacingMark, .format: true
        default: false
        }
    }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        case .control: 0x09...0x0D ~= scalar.value || scalar.value == 0x85
        default: false
        }
    }

    /// Returns whether a scalar is not drawn, or changes how others are drawn.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200C, 0x200D: return false  // Joiners, without which some scripts and emoji fall apart.
        case 0xFE00...0xFE0F: return false
        case 0xE0020...0xE007F: return false  // Tags, of which flags are made.
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control: return !isSpace(scalar)
        case .format, .surrogate, .privateUse, .unassigned: return true
        default: return scalar.properties.isNoncharacterCodePoint
        }
    }
}
