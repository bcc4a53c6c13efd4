/// A reason for refusing input: the field at fault, the value found, and the values expected.
///
/// Contains no secret: URLs in `found` are redacted beforehand. Quotations of the input are cut, so that a sender of a
/// megabyte does not get it back.
public struct InputError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A stable code, which becomes the problem's `type` in HTTP answers.
    public enum Code: String, Hashable, Sendable {
        case malformedJSON = "malformed-json"
        case missingField = "missing-field"
        case invalidField = "invalid-field"
        case unknownField = "unknown-field"
        case unknownEventType = "unknown-event-type"
        case refusedURL = "url-refused"
        case foreignApp = "app-forbidden"
        case missingRight = "scope-missing"
    }

    public var code: Code
    /// JSON path of the field, such as `data.url`; empty for the whole document.
    public var field: String
    public var found: String?
    public var expected: String

    /// Maximum length of a quotation, in bytes of UTF-8.
    public static let longestQuote = 100
    /// Maximum length of a path including the names in it, in bytes of UTF-8.
    private static let longestPath = 256

    public init(_ code: Code, field: String, found: String? = nil, expected: String) {
        self.code = code
        self.field = field.shortened(toBytes: Self.longestPath)
        self.found = found?.shortened(toBytes: Self.longestPath)
        self.expected = expected
    }

    public var description: String {
        let place = field.isEmpty ? "the body" : "\"\(field)\""
        let what =
            switch code {
            case .missingField: "\(place) is missing"
            case .unknownField: "\(place) is unknown"
            case .malformedJSON: "\(place) is not JSON"
            case .refusedURL, .foreignApp, .missingRight: "\(place) is refused"
            case .unknownEventType, .invalidField: "\(place) is invalid"
            }
        return what + (found.map { ": found \($0)" } ?? "") + "; expected \(expected)"
    }
}
