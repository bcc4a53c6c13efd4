/// The fields of a gift: a flat JSON object whose meaning the app defines.
public struct ChannelGift: Hashable, Sendable {
    public enum Value: Hashable, Sendable {
        case text(String)
        case number(Double)
        case flag(Bool)
    }

    /// Maximum number of fields, and maximum size of keys and texts together, in bytes of UTF-8.
    public static let mostFields = 16
    public static let mostBytes = 1024

    public let fields: [String: Value]

    /// - Returns: `nil` if there are too many fields or bytes, or a number is not finite.
    public init?(_ fields: [String: Value]) {
        guard fields.count <= Self.mostFields else { return nil }
        self.fields = fields
        guard weight <= Self.mostBytes else { return nil }
        for case .number(let number) in fields.values where !number.isFinite { return nil }
    }

    var weight: Int {
        fields.reduce(0) { sum, field in
            let value = if case .text(let text) = field.value { text.utf8.count } else { 8 }
            return sum + field.key.utf8.count + value
        }
    }
}

extension ChannelGift: Codable {
    private struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        var fields: [String: Value] = [:]
        for key in container.allKeys {
            if let text = try? container.decode(String.self, forKey: key) {
                fields[key.stringValue] = .text(text)
            } else if let flag = try? container.decode(Bool.self, forKey: key) {
                fields[key.stringValue] = .flag(flag)
            } else {
                fields[key.stringValue] = .number(try container.decode(Double.self, forKey: key))
            }
        }
        guard let gift = ChannelGift(fields) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "expected at most \(Self.mostFields) fields of \(Self.mostBytes) bytes together"))
        }
        self = gift
    }

    /// Encodes the fields in the order of their keys, so that equal gifts give equal bytes.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .text(let text): try container.encode(text, forKey: Key(stringValue: key))
            case .flag(let flag): try container.encode(flag, forKey: Key(stringValue: key))
            // A whole number is written without a fraction: 3, not 3.0.
            case .number(let number):
                if let whole = Int64(exactly: number), whole.magnitude < 1 << 53 {
                    try container.encode(whole, forKey: Key(stringValue: key))
                } else {
                    try container.encode(number, forKey: Key(stringValue: key))
                }
            }
        }
    }
}
