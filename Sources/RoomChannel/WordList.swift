import Foundation

/// Refused words, compared without regard to case, width, accents and invisible characters.
///
/// Text is decomposed by compatibility (NFKD, Unicode Standard Annex #15), its marks and its invisible characters
/// (`Default_Ignorable_Code_Point`) are dropped, and its letters are lower-cased. A word is found as a whole word; a
/// word in a script without spaces between words is found anywhere. Letters of other scripts that only look alike are
/// not found.
public struct WordList: Hashable, Sendable {
    /// The words as given, in order.
    public private(set) var words: [String] = []
    /// Folded single words of scripts with spaces.
    private var whole: Set<String> = []
    /// Other folded texts: phrases, delimited by spaces, and words of scripts without spaces.
    private var parts: [[UInt8]] = []

    public static let mostWords = 500
    /// Longest word, in bytes of UTF-8.
    public static let longestWord = 128

    public init() {}

    /// - Throws: `ChannelRefusal.badRules` if there are too many words, or one is too long or has no letter.
    public init(_ words: [String]) throws(ChannelRefusal) {
        guard words.count <= Self.mostWords else {
            throw .badRules("At most \(Self.mostWords) words can be refused.")
        }
        for word in words {
            let folded = Self.fold(word)
            guard word.utf8.count <= Self.longestWord, folded.contains(where: { $0 != " " }) else {
                throw .badRules("A refused word has 1 to \(Self.longestWord) bytes of UTF-8, with a letter or a digit.")
            }
            if folded.unicodeScalars.contains(where: Self.isUnspaced) {
                parts.append(Array(folded.trimmed.utf8))
            } else if folded.trimmed.utf8.contains(UInt8(ascii: " ")) {
                parts.append(Array(folded.utf8))
            } else {
                whole.insert(folded.trimmed)
            }
        }
        self.words = words
    }

    /// Returns whether the text contains a word of the list.
    public func matches(_ text: String) -> Bool {
        guard !words.isEmpty else { return false }
        let folded = Self.fold(text)
        if !whole.isEmpty {
            for word in folded.utf8.split(separator: UInt8(ascii: " ")) where whole.contains(String(Substring(word))) {
                return true
            }
        }
        guard !parts.isEmpty else { return false }
        let bytes = Array(folded.utf8)
        return parts.contains { Self.contains(bytes, $0) }
    }

    /// Returns the folded text, with one space between words and at both ends.
    static func fold(_ text: String) -> String {
        var folded = String.UnicodeScalarView(" ".unicodeScalars)
        var isInWord = false
        // Lower-cased before and after, because decomposition may yield capitals, and lower-casing may yield marks.
        for scalar in text.lowercased().decomposedStringWithCompatibilityMapping.lowercased().unicodeScalars {
            let properties = scalar.properties
            if properties.isDefaultIgnorableCodePoint { continue }
            switch properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .spacingMark, .format: continue
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .letterNumber, .otherNumber:
                folded.append(scalar)
                isInWord = true
            default:
                if isInWord { folded.append(" ") }
                isInWord = false
            }
        }
        if isInWord { folded.append(" ") }
        return String(folded)
    }

    /// Returns whether the scalar belongs to a script without spaces between words.
    private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Thai, Lao; Myanmar; Khmer; kana; Han, with its extensions.
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x3400...0x9FFF, 0xF900...0xFAFF,
            0x20000...0x3FFFF:
            true
        default: false
        }
    }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard let first = part.first, text.count >= part.count else { return false }
        return (0...(text.count - part.count)).contains { start in
            text[start] == first && text[start..<(start + part.count)].elementsEqual(part)
        }
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
