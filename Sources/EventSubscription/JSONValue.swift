import TextFormats

/// A JSON document as it came, before it is checked against any expectation.
public enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Creates a value by parsing a JSON document.
    ///
    /// - Throws: `InputError` of code `malformedJSON`, with the position.
    public init(parsing bytes: some Sequence<UInt8>) throws(InputError) {
        let parsed =
            bytes.withContiguousStorageIfAvailable(Self.parse) ?? Array(bytes).withUnsafeBufferPointer(Self.parse)
        self = try parsed.get()
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<JSONValue, InputError> {
        do {
            return .success(try JSONParser.parse(bytes))
        } catch {
            return .failure(error.inputError(in: bytes))
        }
    }

    /// Summary for error messages: scalars as they are, with strings cut to 100 bytes and without secrets of URLs;
    /// arrays and objects by kind.
    public var summary: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): Int(exactly: value).map(String.init) ?? "\(value)"
        case .string(let text): "\"\(Self.shown(text).shortened(toBytes: InputError.longestQuote))\""
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Returns text without secrets of URLs. It is cut only afterwards, because a part of a URL may look like another
    /// one.
    private static func shown(_ text: String) -> String {
        URLRedaction.hasURL(text) ? URLRedaction.shown(text) : text
    }
}
