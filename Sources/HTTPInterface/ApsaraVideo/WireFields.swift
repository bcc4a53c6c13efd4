import EventSubscription

/// Reads the fields of a normalised object and reports exactly what is wrong with an invalid one.
struct WireFields {
    /// The object's path in the request, such as `TranscodeParams.EncodeParams`.
    let path: String
    private let fields: [String: JSONValue]

    init(_ value: JSONValue, _ path: String) {
        self.path = path
        fields = if case .object(let fields) = value { fields } else { [:] }
    }

    func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    var isEmpty: Bool { fields.isEmpty }

    func text(_ key: String, atMost longest: Int = 2048) throws(CallError) -> String? {
        guard case .string(let text)? = fields[key] else { return nil }
        guard text.unicodeScalars.count <= longest else {
            throw .invalid(path(of: key), "\(text.unicodeScalars.count) characters; expected at most \(longest)")
        }
        return text
    }

    func required(_ key: String, _ expected: String, atMost longest: Int = 2048) throws(CallError) -> String {
        guard let text = try text(key, atMost: longest) else { throw .missing(path(of: key), expected) }
        return text
    }

    func integer(_ key: String, in range: ClosedRange<Int>, unit: String = "") throws(CallError) -> Int? {
        guard let text = try text(key) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw .invalid(path(of: key), text, Self.whole(range, unit))
        }
        return value
    }

    func requiredInteger(_ key: String, in range: ClosedRange<Int>, unit: String = "") throws(CallError) -> Int {
        guard let value = try integer(key, in: range, unit: unit) else {
            throw .missing(path(of: key), Self.whole(range, unit))
        }
        return value
    }

    /// Returns a required decimal fraction, 0…1.
    func requiredFraction(_ key: String) throws(CallError) -> Double {
        let expected = "a decimal number, 0…1"
        let text = try required(key, expected)
        guard let value = Double(text), 0...1 ~= value else { throw .invalid(path(of: key), text, expected) }
        return value
    }

    /// Returns the value that the field's text stands for, or `nil` if the field is missing.
    func choice<Value>(_ key: String, _ values: KeyValuePairs<String, Value>) throws(CallError) -> Value? {
        guard let text = try text(key) else { return nil }
        guard let match = values.first(where: { $0.key == text }) else {
            throw .invalid(path(of: key), text, "one of " + values.map { "\"\($0.key)\"" }.joined(separator: ", "))
        }
        return match.value
    }

    /// Returns a flag, of which several spellings are accepted.
    func flag(_ key: String) throws(CallError) -> Bool? {
        try choice(key, ["true": true, "false": false, "True": true, "False": false, "1": true, "0": false])
    }

    func object(_ key: String) -> WireFields? { fields[key].map { WireFields($0, path(of: key)) } }

    func objects(_ key: String, atMost most: Int) throws(CallError) -> [WireFields]? {
        guard case .array(let elements)? = fields[key] else { return nil }
        guard elements.count <= most else {
            throw .invalid(path(of: key), "\(elements.count) of them; expected at most \(most)")
        }
        return elements.enumerated().map { WireFields($1, "\(path(of: key))[\($0)]") }
    }

    private static func whole(_ range: ClosedRange<Int>, _ unit: String) -> String {
        "a whole number, \(range.lowerBound)…\(range.upperBound)\(unit.isEmpty ? "" : " \(unit)")"
    }
}
