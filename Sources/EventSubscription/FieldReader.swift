import TextFormats

/// Reads the fields of one JSON object, with a precise error for a field that is missing or invalid.
///
/// Every accessor marks its key as known; `finish` refuses the remaining keys.
public struct FieldReader {
    /// JSON path of the object, such as `outputs[0]`; empty for the document.
    public let path: String
    private let fields: [String: JSONValue]
    /// Keys that were read, some more than once.
    private var asked: [String] = []

    public init(_ value: JSONValue, path: String = "") throws(InputError) {
        guard case .object(let fields) = value else {
            throw InputError(.invalidField, field: path, found: value.summary, expected: "a JSON object")
        }
        self.path = path
        self.fields = fields
    }

    /// Returns the path of a key of this object.
    public func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// Returns the value unchanged; `nil` when the key is absent or null.
    public mutating func value(_ key: String) -> JSONValue? {
        asked.append(key)
        guard let value = fields[key], value != .null else { return nil }
        return value
    }

    /// Returns whether the key is present, even if its value is null.
    public mutating func has(_ key: String) -> Bool {
        asked.append(key)
        return fields[key] != nil
    }

    public mutating func string(_ key: String, expected: String = "a string") throws(InputError) -> String? {
        guard let value = value(key) else { return nil }
        guard case .string(let text) = value else { throw invalid(key, value, expected) }
        return text
    }

    public mutating func requiredString(
        _ key: String, expected: String = "a non-empty string"
    ) throws(InputError) -> String {
        guard let text = try string(key, expected: expected) else {
            throw InputError(.missingField, field: path(of: key), expected: expected)
        }
        guard !text.isEmpty else { throw invalid(key, .string(""), expected) }
        return text
    }

    public mutating func boolean(_ key: String) throws(InputError) -> Bool? {
        guard let value = value(key) else { return nil }
        guard case .boolean(let flag) = value else { throw invalid(key, value, "true or false") }
        return flag
    }

    public mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(InputError) -> Int? {
        guard let value = value(key) else { return nil }
        let expected = "a whole number, \(range.lowerBound)…\(range.upperBound)"
        guard case .number(let number) = value, let integer = Int(exactly: number), range.contains(integer) else {
            throw invalid(key, value, expected)
        }
        return integer
    }

    /// Returns the case of an enumeration that has the value as its raw value; `nil` when the key is absent or null.
    public mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of type: Choice.Type
    ) throws(InputError) -> Choice? where Choice.RawValue == String {
        guard let value = value(key) else { return nil }
        guard case .string(let text) = value, let choice = Choice(rawValue: text) else {
            let names = Choice.allCases.map(\.rawValue)
            throw invalid(key, value, "one of " + names.map { "\"\($0)\"" }.joined(separator: ", "))
        }
        return choice
    }

    public mutating func object(_ key: String) throws(InputError) -> FieldReader? {
        guard let value = value(key) else { return nil }
        return try FieldReader(value, path: path(of: key))
    }

    public mutating func array(_ key: String) throws(InputError) -> [(JSONValue, path: String)]? {
        guard let value = value(key) else { return nil }
        guard case .array(let elements) = value else { throw invalid(key, value, "an array") }
        return elements.enumerated().map { ($1, "\(path(of: key))[\($0)]") }
    }

    /// Returns the error for a value that is present but cannot be used.
    public func invalid(_ key: String, _ found: JSONValue?, _ expected: String) -> InputError {
        InputError(.invalidField, field: path(of: key), found: found?.summary, expected: expected)
    }

    /// Refuses keys that were never read, suggesting the known one with the most similar spelling.
    public func finish() throws(InputError) {
        // No set is built for the few keys of a valid document.
        guard let stranger = fields.keys.lazy.filter({ !asked.contains($0) }).min() else { return }
        let names = Set(asked)
        let known = names.sorted().joined(separator: ", ")
        let suggestion = Suggestion.phrase(for: stranger, among: names)
        throw InputError(
            .unknownField, field: path(of: stranger), expected: "one of \(known)\(suggestion)")
    }
}

/// Finds the known word that is nearest to a misspelt one.
public enum Suggestion {
    /// Returns ` (did you mean "x"?)`, or an empty string.
    public static func phrase(for word: String, among known: some Collection<String>) -> String {
        nearest(to: word, among: known).map { " (did you mean \"\($0)\"?)" } ?? ""
    }

    /// Returns the nearest known word; `nil` when more than a third of the letters, or more than three, would have to
    /// change.
    public static func nearest(to word: String, among known: some Collection<String>) -> String? {
        // A longer word is not a typing mistake, and converting it to lower case alone would cost time.
        guard word.utf8.count <= 64 else { return nil }
        let word = word.lowercased()
        let ranked = known.map { ($0, distance(word, $0.lowercased())) }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
        guard let (best, distance) = ranked.first, distance <= min(3, max(1, word.count / 3)) else { return nil }
        return best
    }

    /// Returns the edit distance between the first 64 Unicode scalars of both words.
    private static func distance(_ left: String, _ right: String) -> Int {
        EditDistance.between(Array(left.unicodeScalars.prefix(64)), Array(right.unicodeScalars.prefix(64)))
    }
}
