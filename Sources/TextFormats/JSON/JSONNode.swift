/// A JSON value with its place in the document. Members keep their order, and repeated keys are kept.
package struct JSONNode: Sendable {
    package enum Value: Sendable {
        case null
        case boolean(Bool)
        case number(Double)
        case string(String)
        case array([JSONNode])
        case object([JSONMember])
    }

    package var value: Value
    /// The place of the first byte.
    package var position: JSONPosition
    /// The offset after the last byte.
    package var end: Int

    /// The bytes of the value in its document.
    package var range: Range<Int> { position.offset..<end }

    /// Parses a document.
    package init(parsing bytes: [UInt8], limits: JSONLimits) throws(JSONFailure) {
        self = try bytes.withUnsafeBufferPointer { buffer throws(JSONFailure) in
            try JSONParser<JSONNode>.parse(buffer, limits: limits)
        }
    }

    /// Returns the value of a key of an object; for a repeated key the last one, as decoders do.
    package subscript(key key: String) -> JSONNode? {
        guard case .object(let members) = value else { return nil }
        return members.last { $0.key == key }?.node
    }

    /// Returns the document up to the end of this value, with blanks before the value. Lines and columns stay the same,
    /// so the value can be parsed by itself.
    package func isolated(in bytes: [UInt8]) -> [UInt8] {
        let blank = bytes[..<range.lowerBound].map { byte in
            byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") ? byte : UInt8(ascii: " ")
        }
        return blank + bytes[range]
    }
}

/// A member of an object.
package struct JSONMember: Sendable {
    package var key: String
    package var keyPosition: JSONPosition
    package var node: JSONNode
}

extension JSONNode: JSONTree {
    struct Members {
        var list: [JSONMember] = []
        /// The keys, if they must be unique.
        var keys: Set<String> = []
    }

    static var noMembers: Members { Members() }

    static func add(
        _ value: consuming JSONNode, for key: consuming String, at position: JSONPosition, to members: inout Members,
        isUnique: Bool
    ) -> Bool {
        let isNew = !isUnique || members.keys.insert(copy key).inserted
        members.list.append(JSONMember(key: key, keyPosition: position, node: value))
        return isNew
    }

    init(_ content: JSONContent<JSONNode>, from start: JSONPosition, to end: Int) {
        value =
            switch content {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .number(let value): .number(value)
            case .string(let value): .string(value)
            case .array(let elements): .array(elements)
            case .object(let members): .object(members.list)
            }
        position = start
        self.end = end
    }
}
