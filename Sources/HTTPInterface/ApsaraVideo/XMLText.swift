import EventSubscription
import TextFormats

/// Writes answers as XML, for `Format=XML`.
///
/// Each key becomes an element. An array becomes one element with its key's name for each member, as in the interface's
/// documentation.
enum XMLText {
    /// - Parameters:
    ///   - root: `Error`, or the action's name followed by `Response`.
    ///   - fields: The answer's fields. Their names are those of the interface, all of which are valid XML names.
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

    /// Appends escaped text. Characters that XML 1.0 cannot represent, even by reference, become U+FFFD.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\"": bytes += "&quot;".utf8
            // A parser would turn an unescaped carriage return into a line feed.
            case "\r": bytes += "&#13;".utf8
            case "\t", "\n", " "..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"...: bytes += String(scalar).utf8
            default: bytes += "\u{FFFD}".utf8
            }
        }
    }
}
