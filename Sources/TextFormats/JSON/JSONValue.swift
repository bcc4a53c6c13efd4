/// A JSON document as received, before it is checked against any expectation.
public enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Parses a document. For a repeated key the last value is kept, if the limits allow repeated keys.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits
    ) throws(JSONFailure) -> JSONValue {
        try JSONParser<JSONValue>.parse(bytes, limits: limits)
    }
}

extension JSONValue: JSONTree {
    static var noMembers: [String: JSONValue] { [:] }

    @inline(__always)
    static func add(
        _ value: consuming JSONValue, for key: consuming String, at position: JSONPosition,
        to members: inout [String: JSONValue],
        isUnique: Bool
    ) -> Bool {
        // Growing a dictionary hashes all keys again. Most objects have more than one key, and those with more than
        // three about as many as an event.
        if members.isEmpty { members.reserveCapacity(3) } else if members.count == 3 { members.reserveCapacity(12) }
        return members.updateValue(value, forKey: key) == nil || !isUnique
    }

    @inline(__always)
    init(_ content: JSONContent<JSONValue>, from start: JSONPosition, to end: Int) {
        self =
            switch content {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .number(let value): .number(value)
            case .string(let value): .string(value)
            case .array(let elements): .array(elements)
            case .object(let members): .object(members)
            }
    }
}
