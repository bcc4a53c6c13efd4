import TextFormats

/// A JSON document from external software, read leniently: a field that is missing or of another type is `nil`.
struct HookDocument: Sendable {
    private let value: JSONValue?

    private init(_ value: JSONValue?) { self.value = value }

    /// - Throws: `InputError` of code `malformedJSON`, or if the document is not an object.
    init(parsing bytes: [UInt8]) throws(InputError) {
        let value = try JSONValue(parsing: bytes)
        guard case .object = value else {
            throw InputError(.invalidField, field: "", found: value.summary, expected: "a JSON object")
        }
        self.value = value
    }

    /// Returns a member, which is empty if this is not an object.
    subscript(_ key: String) -> HookDocument {
        guard case .object(let members)? = value else { return HookDocument(nil) }
        return HookDocument(members[key])
    }

    /// Whether there is a value other than null.
    var exists: Bool { value.map { $0 != .null } ?? false }

    /// A non-empty string, or a whole number in decimal digits: identifiers have both forms.
    var text: String? {
        switch value {
        case .string(let text)?: text.isEmpty ? nil : text
        case .number(let number)?: Self.whole(number).map { String($0) }
        default: nil
        }
    }

    /// A whole number, including one in a string, as in the JSON form of protocol buffers.
    var integer: Int? {
        switch value {
        case .string(let text)?: text.utf8.count <= 20 ? Int(text) : nil
        case .number(let number)?: Self.whole(number)
        default: nil
        }
    }

    var boolean: Bool? { if case .boolean(let flag)? = value { flag } else { nil } }

    /// Elements of an array; empty if this is not an array.
    var elements: [HookDocument] {
        guard case .array(let elements)? = value else { return [] }
        return elements.map { HookDocument($0) }
    }

    /// Returns the number if it is whole and small enough to be exact in JSON (RFC 7493 §2.2).
    private static func whole(_ number: Double) -> Int? { abs(number) < 0x1p53 ? Int(exactly: number) : nil }

    /// - Throws: `InputError` about a field that every document of this kind must have.
    static func required<Value>(_ value: Value?, _ field: String, _ expected: String) throws(InputError) -> Value {
        guard let value else { throw InputError(.missingField, field: field, expected: expected) }
        return value
    }
}
