import TextFormats

extension JSONNode {
    /// The value for error messages: a scalar as JSON, an array or an object by its kind.
    var summary: String {
        switch value {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): Self.text(of: value)
        case .string(let text): Self.quoted(text)
        case .array(let elements): elements.isEmpty ? "an empty array" : "an array"
        case .object: "an object"
        }
    }

    /// Formats a number without `.0` after whole numbers.
    static func text(of number: Double) -> String {
        abs(number) < 1e15 && number == number.rounded() ? "\(Int(number))" : "\(number)"
    }

    /// Quotes a text for error messages: at most 40 Unicode scalars, with control characters made visible.
    static func quoted(_ text: String) -> String {
        let isLong = text.unicodeScalars.count > 40
        var shown = ""
        for scalar in text.unicodeScalars.prefix(isLong ? 39 : 40) {
            switch scalar {
            case "\"", "\\": shown += "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return "\"\(shown)\(isLong ? "…" : "")\""
    }
}
