import TextFormats

public typealias JSONValue = TextFormats.JSONValue

extension JSONLimits {
    /// The limits of a request's body.
    package static let requests = JSONLimits(
        deepest: 128, longestKey: 256, mostMembers: 1000, refusesRepeatedKeys: true)
}

extension JSONValue {
    /// Creates a value by parsing a JSON document: at most 128 levels deep, with at most 1000 keys of at most 256 bytes in
    /// each object, and each key once.
    ///
    /// - Throws: `InputError` of code `malformedJSON`, with the position.
    public init(parsing bytes: some Sequence<UInt8>) throws(InputError) {
        let parsed =
            bytes.withContiguousStorageIfAvailable(Self.parse) ?? Array(bytes).withUnsafeBufferPointer(Self.parse)
        self = try parsed.get()
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<JSONValue, InputError> {
        do {
            return .success(try parse(bytes, limits: .requests))
        } catch {
            return .failure(error.inputError(in: bytes))
        }
    }

    /// Summary for error messages: scalars unchanged, with strings cut to 100 bytes and without secrets of URLs; arrays
    /// and objects by kind.
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
    /// URL.
    private static func shown(_ text: String) -> String {
        URLRedaction.hasURL(text) ? URLRedaction.shown(text) : text
    }
}

extension JSONFailure {
    /// Returns the failure as an error about the whole document. It quotes at most one byte of it.
    fileprivate func inputError(in bytes: UnsafeBufferPointer<UInt8>) -> InputError {
        let position = JSONPosition(of: place, in: bytes)
        let found =
            if position.offset >= bytes.count {
                "the end of input"
            } else if 0x21...0x7E ~= bytes[position.offset] {
                "'\(Character(Unicode.Scalar(bytes[position.offset])))'"
            } else {
                "byte \(bytes[position.offset])"
            }
        return InputError(
            .malformedJSON, field: "", found: "\(found) at line \(position.line), column \(position.column)",
            expected: "valid JSON, here \(expected(atEnd: position.offset >= bytes.count))")
    }

    private var place: Int {
        switch problem {
        case .range, .keyLength, .repeatedKey: start
        default: offset
        }
    }

    private func expected(atEnd isAtEnd: Bool) -> String {
        let limits = JSONLimits.requests
        return switch problem {
        case .value: "a value"
        case .wordTrue: "true"
        case .wordFalse: "false"
        case .wordNull: "null"
        case .key, .keyOrBrace: "a key in quotation marks"
        case .colon: "a colon"
        case .commaOrBrace: "a comma or }"
        case .commaOrBracket: "a comma or ]"
        case .endOfDocument: "nothing after the document"
        case .integer: "a number without leading zeros"
        case .digit: "a digit"
        case .range: "a number no larger than 1.8e308"
        case .quotationMark: "a quotation mark"
        case .controlCharacter: "an escape sequence instead of the control character"
        case .escape:
            isAtEnd ? "an escape sequence" : "an escape sequence: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u"
        case .hexadecimalDigits: "four hexadecimal digits"
        case .surrogate: "both halves of a surrogate pair"
        case .secondSurrogate: "the second half of a surrogate pair"
        case .utf8: "UTF-8"
        case .marks: "at most \(String.mostMarksInARow) combining marks in a row"
        case .length: "at most \(limits.longest) bytes"
        case .depth: "at most \(limits.deepest) levels"
        case .keyLength: "a key of at most \(limits.longestKey) bytes"
        case .members: "at most \(limits.mostMembers) keys in an object"
        case .repeatedKey: "each key once"
        }
    }
}
