/// The rules for the characters of identifiers.
enum Identifiers {
    /// Checks the characters and the length of an identifier.
    ///
    /// - Parameter longest: Maximum length, in bytes.
    /// - Throws: `InputError` for text that has never been allowed as an identifier.
    static func check(_ text: String, field: String, longest: Int) throws(InputError) {
        guard 1...longest ~= text.utf8.count, hasOnlyNameCharacters(text), text != ".", text != ".." else {
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(text).summary,
                expected: "1 to \(longest) bytes without spaces, control characters or any of / ? # % \\")
        }
    }

    /// Checks that a name has only one spelling.
    ///
    /// - Throws: `InputError` when the name can be spelt in another way, or its first character combines with the one
    ///   before it.
    static func checkSpelling(_ text: String, field: String) throws(InputError) {
        guard !isASCII(text) else { return }
        // Joiners, marks, variation selectors: everything that forms one character with a separator before it.
        if let first = text.unicodeScalars.first, "/\(first)".count < 2 {
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(text).summary,
                expected: "a name that does not begin with a combining character: it begins with "
                    + "U+\(String(first.value, radix: 16, uppercase: true)), which attaches to the character before it")
        }
        guard isNFC(text) else {
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(text).summary,
                expected:
                    "the name in Unicode normalization form NFC: normalize it before "
                    + "sending, for example with name.normalize(\"NFC\") in JavaScript")
        }
    }

    static func hasControlCharacters(_ text: String) -> Bool {
        for byte in text.utf8 {
            switch byte {
            case 0x20...0x7E: continue
            case 0x80...: return text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            default: return true
            }
        }
        return false
    }

    private static func hasOnlyNameCharacters(_ text: String) -> Bool {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "%"), UInt8(ascii: "\\"):
                return false
            case 0x21...0x7E: continue
            case 0x80...:
                // The Unicode tables are slow, and most names do not need them.
                return text.unicodeScalars.allSatisfy { scalar in
                    !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control
                        && !"/?#%\\".unicodeScalars.contains(scalar)
                }
            default: return false
            }
        }
        return true
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    private static func isNFC(_ text: String) -> Bool {
        var span = text.utf8Span
        return span.checkForNFC(quickCheck: false)
    }
}
