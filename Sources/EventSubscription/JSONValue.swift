import MixModel

/// A JSON document as it came, before anything is expected of it.
public enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

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

    /// For error messages: scalars as they are, cut to 100 bytes and without secrets of URLs; the rest by kind.
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

    /// Cut only afterwards: a part of a URL may look like another one.
    private static func shown(_ text: String) -> String {
        URLRedaction.hasURL(text) ? URLRedaction.shown(text) : text
    }
}
