import EventSubscription
import TextFormats

/// The permitted content of a JSON parameter.
///
/// SDKs and app servers write the same value as text, number or flag. It is normalised to text, which answers use.
/// Unknown keys, empty texts and empty arrays are dropped.
indirect enum WireShape: Sendable {
    case text
    /// A Boolean, also in answers.
    case flag
    /// JSON inside a string. Callers that omit the quoting are accepted.
    case embedded
    case object([String: WireShape])
    case array(WireShape)

    /// Returns the value in normalised form.
    ///
    /// - Parameter path: The value's path for errors, such as `TranscodeParams.Layout.UserPanes[0]`.
    /// - Returns: `nil` if the value counts as omitted.
    func normalised(_ value: JSONValue, _ path: String) throws(CallError) -> JSONValue? {
        switch (self, value) {
        case (_, .null): return nil
        case (.embedded, .object), (.embedded, .array): return .string(JSONText.of(value))
        case (.text, .string(let text)), (.embedded, .string(let text)): return text.isEmpty ? nil : value
        case (.text, .number(let number)), (.embedded, .number(let number)): return .string(JSONText.text(number))
        case (.text, .boolean(let flag)), (.embedded, .boolean(let flag)): return .string(flag ? "true" : "false")
        case (.flag, .boolean): return value
        case (.flag, .string(let text)):
            switch text.lowercased() {
            case "": return nil
            case "true", "1": return .boolean(true)
            case "false", "0": return .boolean(false)
            default: throw .invalid(path, text, "true or false")
            }
        case (.flag, .number(let number)) where number == 0 || number == 1: return .boolean(number == 1)
        case (.object(let shapes), .object(let fields)):
            var known: [String: JSONValue] = [:]
            for (key, field) in fields {
                guard let shape = shapes[key] else { continue }
                known[key] = try shape.normalised(field, "\(path).\(key)")
            }
            return .object(known)
        case (.array(let shape), .array(let elements)):
            var known: [JSONValue] = []
            for (index, element) in elements.enumerated() {
                if let element = try shape.normalised(element, "\(path)[\(index)]") { known.append(element) }
            }
            return known.isEmpty ? nil : .array(known)
        default: throw .invalid(path, "found \(value.summary); expected \(expected)")
        }
    }

    private var expected: String {
        switch self {
        case .text: "a text or a number"
        case .flag: "true or false"
        case .embedded: "JSON in a string"
        case .object: "a JSON object"
        case .array: "a JSON array"
        }
    }
}
