/// Keeps an optional value out of line, so that what has it is small and cheap to copy: copies share it until one of them
/// changes it. Read, written, compared and encoded like the value itself; `nil` takes no memory, and no key in a document.
///
/// For large parts that most values do not have, or that seldom change.
@propertyWrapper
public struct Boxed<Value> {
    private final class Box {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    /// Written only while nobody else has it.
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

// What synthesised conformances call: a document says nothing of what is not there.
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
