/// The name of a field of a JSON object whose fields are not all known to its own type.
struct FieldName: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init(stringLiteral value: String) { self.init(value) }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
