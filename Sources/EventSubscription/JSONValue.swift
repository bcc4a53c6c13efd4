import Foundation
import MixModel

/// A JSON document as it came, before anything is expected of it.
public enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Throws: `InputError` of code `malformedJSON`, with the parser's position.
    public init(parsing bytes: some Sequence<UInt8>) throws(InputError) {
        let data = Data(bytes)
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: data)
        } catch {
            throw InputError(
                .malformedJSON, field: "", found: Self.complaint(about: data), expected: "one JSON document")
        }
    }

    /// The decoder does not say where it stopped; the older reader does.
    private static func complaint(about data: Data) -> String? {
        do {
            _ = try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
            return nil
        } catch {
            return (error as NSError).userInfo["NSDebugDescription"] as? String
        }
    }

    /// For error messages: scalars as they are, cut to 60 characters and without secrets of URLs; the rest by kind.
    public var summary: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): Int(exactly: value).map(String.init) ?? "\(value)"
        case .string(let text): "\"\(Self.shortened(text.contains("://") ? URLRedaction.shown(text) : text))\""
        case .array: "an array"
        case .object: "an object"
        }
    }

    private static func shortened(_ text: String) -> String {
        text.count > 60 ? text.prefix(59) + "…" : text
    }
}

extension JSONValue: Decodable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}
