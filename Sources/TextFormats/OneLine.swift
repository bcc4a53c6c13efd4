/// Escaping of text for one line of a log.
public enum OneLine {
    /// Returns the text with all characters escaped that a terminal or a line reader would not treat as plain text:
    /// control characters, and the separators of lines and paragraphs. Quotation marks and backslashes stay.
    public static func of(_ text: String) -> String {
        guard !text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }), text.unicodeScalars.contains(where: endsLine) else {
            return text
        }
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": line += #"\n"#
            case "\r": line += #"\r"#
            case "\t": line += #"\t"#
            case _ where endsLine(scalar):
                let digits = String(scalar.value, radix: 16)
                line += #"\u"# + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    /// Returns whether the scalar is a control character or a separator of lines or paragraphs. All of these lie below
    /// U+10000.
    private static func endsLine(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
