/// Stores an optional value out of line, which keeps its container small and cheap to copy.
///
/// Copies share the value until one of them changes it. It is read, written, compared and encoded like the value
/// itself; `nil` takes no memory, and no key in a document. Use it for large parts that most values do not have, or
/// that seldom change.
@propertyWrapper
public struct Boxed<Value> {
    private final class Box {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    /// The shared storage, written only while it is uniquely referenced.
    private var box: Box?

    public init(wrappedValue: Value?) { box = wrappedValue.map(Box.init) }

    public var wrappedValue: Value? {
        get { box?.value }
        set {
            if let newValue, box != nil, isKnownUniquelyReferenced(&box) {
                box?.value = newValue
            } else {
                box = newValue.map(Box.init)
            }
        }
    }
}

// A box is never written while it is shared.
extension Boxed: @unchecked Sendable where Value: Sendable {}

extension Boxed: Equatable where Value: Equatable {
    public static func == (one: Boxed, other: Boxed) -> Bool {
        one.box === other.box || one.wrappedValue == other.wrappedValue
    }
}

extension Boxed: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension Boxed: Encodable where Value: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension Boxed: Decodable where Value: Decodable {
    public init(from decoder: any Decoder) throws {
        self.init(wrappedValue: try decoder.singleValueContainer().decode(Value?.self))
    }
}

// Synthesised conformances call these overloads, which leave `nil` values out of documents.
extension KeyedEncodingContainer {
    public mutating func encode<Value: Encodable>(_ boxed: Boxed<Value>, forKey key: Key) throws {
        try encodeIfPresent(boxed.wrappedValue, forKey: key)
    }
}

extension KeyedDecodingContainer {
    public func decode<Value: Decodable>(_: Boxed<Value>.Type, forKey key: Key) throws -> Boxed<Value> {
        Boxed(wrappedValue: try decodeIfPresent(Value.self, forKey: key))
    }
}
