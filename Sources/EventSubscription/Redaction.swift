/// Takes secrets out of text that somebody else wrote.
public enum Redaction {
    /// Every URL in the text becomes its redacted form; what stands around it stays.
    public static func text(_ text: String) -> String {
        guard text.contains("://") else { return text }
        var result = ""
        var word = ""
        func flush() {
            result += word.contains("://") ? redact(word) : word
            word = ""
        }
        for character in text {
            if character.isWhitespace || "\"'<>()[]{},;|".contains(character) {
                flush()
                result.append(character)
            } else {
                word.append(character)
            }
        }
        flush()
        return result
    }

    /// A word with a URL in it, maybe with something in front (`location=rtmp://…`) or punctuation behind.
    private static func redact(_ word: String) -> String {
        guard let separator = word.firstRange(of: "://") else { return word }
        let scheme = word[..<separator.lowerBound].reversed().prefix { $0.isLetter || $0.isNumber }.reversed()
        let start = word.index(separator.lowerBound, offsetBy: -scheme.count)
        let end = word.lastIndex { !".:!".contains($0) }.map(word.index(after:)) ?? word.endIndex
        let url = String(word[start..<max(end, separator.upperBound)])
        return word[..<start] + (StreamURL.redactedOrNil(url) ?? String(scheme) + "://***")
            + word[max(end, separator.upperBound)...]
    }
}
