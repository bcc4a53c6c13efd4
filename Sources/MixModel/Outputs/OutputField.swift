/// The place of values in a JSON object: a key, and the number of values that it takes.
public struct OutputField: Hashable, Sendable {
    public enum Count: Hashable, Sendable {
        /// A list, which is always present.
        case list
        /// A list, which is left out while it is empty.
        case optionalList
        /// One value, or none. If there are several, the first is written.
        case optional
    }

    public let name: String
    public let count: Count

    public init(_ name: String, _ count: Count) {
        self.name = name
        self.count = count
    }

    func values<Value: Decodable>(
        of type: Value.Type, in object: KeyedDecodingContainer<FieldName>
    ) throws -> [Value] {
        let key = FieldName(name)
        return switch count {
        case .list: try object.decode([Value].self, forKey: key)
        case .optionalList: try object.decodeIfPresent([Value].self, forKey: key) ?? []
        case .optional: try object.decodeIfPresent(Value.self, forKey: key).map { [$0] } ?? []
        }
    }

    func encode(_ values: [some Encodable], to object: inout KeyedEncodingContainer<FieldName>) throws {
        let key = FieldName(name)
        switch count {
        case .optionalList where values.isEmpty: break
        case .list, .optionalList: try object.encode(values, forKey: key)
        case .optional: try object.encodeIfPresent(values.first, forKey: key)
        }
    }
}
