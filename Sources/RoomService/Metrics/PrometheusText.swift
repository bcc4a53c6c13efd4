/// The elements of Prometheus' text format, exposition format 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
enum PrometheusText {
    /// Returns the name with `_` in place of characters that the format does not allow in names of metrics and labels.
    static func name(_ text: String) -> String {
        var name = ""
        for character in text.unicodeScalars {
            let isLetter = character.properties.isAlphabetic && character.isASCII || character == "_"
            let isDigit = ("0"..."9").contains(character)
            if isDigit, name.isEmpty { name += "_" }
            name.unicodeScalars.append(isLetter || isDigit ? character : "_")
        }
        return name.isEmpty ? "_" : name
    }

    static func help(_ text: String) -> String {
        escaped(text, ["\\": #"\\"#, "\n": #"\n"#])
    }

    static func sample(_ name: String, _ labels: [(String, String)], _ value: Double) -> String {
        guard !labels.isEmpty else { return "\(name) \(number(value))\n" }
        let pairs = labels.map { label, value in "\(label)=\"\(escaped(value))\"" }
        return "\(name){\(pairs.joined(separator: ","))} \(number(value))\n"
    }

    /// Returns a number, without a fraction if it is whole.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return "\(Int64(value))" }
        return "\(value)"
    }

    private static func escaped(_ value: String) -> String {
        escaped(value, ["\\": #"\\"#, "\"": #"\""#, "\n": #"\n"#])
    }

    /// Escapes scalar by scalar, because a quotation mark with a combining mark is another character.
    private static func escaped(_ text: String, _ escapes: KeyValuePairs<Unicode.Scalar, String>) -> String {
        guard text.unicodeScalars.contains(where: { scalar in escapes.contains { $0.key == scalar } }) else {
            return text
        }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if let escape = escapes.first(where: { $0.key == scalar }) {
                result.append(contentsOf: escape.value.unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }
}
