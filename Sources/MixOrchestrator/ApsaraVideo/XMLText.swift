import EventSubscription

/// Writes answers as XML, for callers who ask for `Format=XML`: keys are elements, and an array is its key's element once
/// for each member, as the interface's documents show it.
enum XMLText {
    /// - Parameters:
    ///   - root: `Error`, or the action's name and `Response`.
    ///   - fields: Their names are those of the interface, all of which are names of XML.
    static func of(_ fields: [String: JSONValue], root: String) -> [UInt8] {
        var bytes = Array(#"<?xml version="1.0" encoding="UTF-8"?>"#.utf8)
        append(.object(fields), as: root, to: &bytes)
        return bytes
    }

    private static func append(_ value: JSONValue, as name: String, to bytes: inout [UInt8]) {
        if case .array(let elements) = value {
            for element in elements { append(element, as: name, to: &bytes) }
            return
        }
        bytes += "<\(name)>".utf8
        switch value {
        case .object(let fields):
            for key in fields.keys.sorted() { append(fields[key] ?? .null, as: key, to: &bytes) }
        case .string(let text): append(text, to: &bytes)
        case .null: break
        case .array, .boolean, .number: bytes += JSONText.of(value).utf8
        }
        bytes += "</\(name)>".utf8
    }

    /// What XML 1.0 cannot hold at all, references included, becomes U+FFFD.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\"": bytes += "&quot;".utf8
            // As it is a parser would make a line feed of it.
            case "\r": bytes += "&#13;".utf8
            case "\t", "\n", " "..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...: bytes += String(scalar).utf8
            default: bytes += "\u{FFFD}".utf8
            }
        }
    }
}
