import Foundation

/// Text that is as expensive as possible, for its length, to a careless reader.
enum NastyText: String, CaseIterable, Sendable {
    case plain, brackets, urls, marks, mixedMarks, percents, escapes, slashes, spaces, quotes, commas, digits

    /// The text that is repeated.
    var piece: String {
        switch self {
        case .plain: "a"
        case .brackets: "[](){}<>"
        case .urls: "://"
        case .marks: "\u{301}"
        // Canonical ordering swaps each pair.
        case .mixedMarks: "\u{301}\u{323}"
        case .percents: "%25%2F"
        case .escapes: "\u{0}\u{1}"
        case .slashes: "/../"
        case .spaces: " \u{A0}"
        case .quotes: "\"\\"
        case .commas: ",;=&"
        case .digits: "9"
        }
    }

    /// - Parameter bytes: Greatest length.
    func text(_ bytes: Int) -> String {
        "x" + String(repeating: piece, count: max(0, (bytes - 1) / piece.utf8.count))
    }

    /// Returns a JSON string of at most this number of bytes, including the quotation marks.
    func json(_ bytes: Int) -> String {
        let piece = Self.escaped(piece)
        return "\"x" + String(repeating: piece, count: max(0, (bytes - 3) / piece.utf8.count)) + "\""
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case "\u{0}"..<" ": "\\u" + String(format: "%04x", scalar.value)
            default: String(scalar)
            }
        }.joined()
    }

    /// Returns the text for a path or a query, with everything but letters and digits percent-encoded.
    func encoded(_ bytes: Int) -> String {
        let piece = piece.utf8.map { String(format: "%%%02X", $0) }.joined()
        return "x" + String(repeating: piece, count: max(0, (bytes - 1) / piece.utf8.count))
    }

    /// Returns whole documents of at most this number of bytes whose structure is expensive.
    static func documents(_ bytes: Int) -> [(name: String, text: String)] {
        func repeated(_ piece: String, _ open: String, _ close: String) -> String {
            open + Array(repeating: piece, count: bytes / (piece.utf8.count + 1) - 2).joined(separator: ",") + close
        }
        func keys(_ key: (Int) -> String) -> String {
            var text = "{"
            for number in 0... {
                let member = "\"\(key(number))\":1"
                guard text.utf8.count + member.utf8.count + 2 < bytes else { break }
                text += (number == 0 ? "" : ",") + member
            }
            return text + "}"
        }
        return [
            ("nested arrays", String(repeating: "[", count: bytes)),
            ("nested objects", String(repeating: #"{"a":"#, count: bytes / 5)),
            ("numbers", repeated("1", "[", "]")), ("objects", repeated("{}", "[", "]")),
            ("arrays", repeated("[]", "[", "]")),
            ("long numbers", "[" + String(repeating: "9", count: bytes - 2) + "]"),
            ("fractions", repeated("0.1e-9", "[", "]")), ("strings", repeated("\"\"", "[", "]")),
            ("small objects", repeated("{\"é\u{323}\u{301}\":1,\"b\":2}", "[", "]")), ("keys", keys { "k\($0)" }),
            ("marked keys", keys { "\u{301}k\($0)\u{323}\u{301}" }),
            ("streams", repeated("{\"user\":\"a\"}", "{\"streams\":[", "]}")),
            ("outputs", repeated("{\"id\":\"a\"}", "{\"outputs\":[", "]}")),
            ("arrangements", repeated("{\"algorithm\":\"grid\"}", "{\"arrangements\":[", "]}")),
            ("form", String(repeating: "a=%41&", count: bytes / 6)), ("nothing", String(repeating: " ", count: bytes)),
        ]
    }
}
