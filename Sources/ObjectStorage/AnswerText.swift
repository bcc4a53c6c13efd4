/// Extracts the few needed elements from a storage's XML, which is untrusted.
enum AnswerText {
    /// Returns the text of the first element with a name; `nil` if there is none, or its text is not plain.
    static func element(_ name: String, in bytes: [UInt8]) -> String? {
        let (begin, end) = (Array("<\(name)>".utf8), Array("</\(name)>".utf8))
        guard let start = position(of: begin, in: bytes[...]).map({ $0 + begin.count }),
            let stop = position(of: end, in: bytes[start...])
        else { return nil }
        let text = String(decoding: bytes[start..<stop], as: UTF8.self)
        return text.contains("<") ? nil : unescaped(text)
    }

    static func has(_ element: String, in bytes: [UInt8]) -> Bool {
        position(of: Array("<\(element)>".utf8), in: bytes[...]) != nil
    }

    /// Returns whether a storage's text may be kept and sent back to it: 1 to 1024 printable ASCII characters.
    static func isToken(_ text: String) -> Bool {
        1...1024 ~= text.utf8.count && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    static func escaped(_ text: String) -> String {
        entities.reduce(text) { $0.replacing($1.character, with: $1.entity) }
    }

    private static func unescaped(_ text: String) -> String {
        // The ampersand is decoded last, or `&amp;lt;` would become `<`.
        entities.reversed().reduce(text.replacing("&#34;", with: "\"")) {
            $0.replacing($1.entity, with: $1.character)
        }
    }

    private static let entities: [(character: String, entity: String)] = [
        ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&apos;"),
    ]

    private static func position(of word: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= word.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - word.count).first { bytes[$0..<$0 + word.count] == word[...] }
    }
}
