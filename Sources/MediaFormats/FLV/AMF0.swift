import EncodedMedia

/// A value of AMF0 (Action Message Format, 2007), limited to the types that RTMP commands and `onMetaData` need.
///
/// The service's RTMP client and the probe's share only this type and the byte order helpers.
package enum AMF0: Hashable, Sendable {
    case number(Double)
    case boolean(Bool)
    case string(String)
    case object([Property])
    /// Written as an ECMA array with named keys; read as `object`.
    case ecmaArray([Property])
    case array([AMF0])
    /// Null or `undefined`.
    case null

    package struct Property: Hashable, Sendable {
        package var name: String
        package var value: AMF0

        package init(name: String, value: AMF0) {
            self.name = name
            self.value = value
        }
    }

    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package subscript(name: String) -> AMF0? {
        if case .object(let properties) = self { properties.first { $0.name == name }?.value } else { nil }
    }

    package func encode(into bytes: inout [UInt8]) {
        switch self {
        case .number(let value):
            bytes.append(0)
            bytes.appendBigEndian(value.bitPattern)
        case .boolean(let value): bytes += [1, value ? 1 : 0]
        case .string(let text):
            bytes.append(2)
            AMF0.append(text, to: &bytes)
        case .object(let properties):
            bytes.append(3)
            AMF0.append(properties, to: &bytes)
        case .ecmaArray(let properties):
            bytes.append(8)
            bytes.appendBigEndian(properties.count, bytes: 4)
            AMF0.append(properties, to: &bytes)
        case .array(let values):
            bytes.append(10)
            bytes.appendBigEndian(values.count, bytes: 4)
            for value in values { value.encode(into: &bytes) }
        case .null: bytes.append(5)
        }
    }

    private static func append(_ properties: [Property], to bytes: inout [UInt8]) {
        for property in properties {
            append(property.name, to: &bytes)
            property.value.encode(into: &bytes)
        }
        bytes += [0, 0, 9]
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let characters = Array(text.utf8.prefix(0xFFFF))
        bytes.appendBigEndian(characters.count, bytes: 2)
        bytes += characters
    }

    /// Largest number of values in a command, including those inside objects and arrays: the largest commands in use
    /// have a few dozen. A value may be written in a single byte but takes more memory than that.
    package static let mostValues = 1024
    /// Largest nesting depth of objects and arrays.
    package static let mostDepth = 8

    /// Decodes every value of a command. Stops without an error at the first value that is unknown, truncated, or
    /// beyond `mostValues` or `mostDepth`.
    package static func decodeAll(_ bytes: [UInt8]) -> [AMF0] {
        var position = 0
        var left = mostValues
        var values: [AMF0] = []
        while position < bytes.count, let value = decode(bytes, at: &position, depth: 0, &left) { values.append(value) }
        return values
    }

    private static func decode(_ bytes: [UInt8], at position: inout Int, depth: Int, _ left: inout Int) -> AMF0? {
        guard position < bytes.count, depth < mostDepth, left > 0 else { return nil }
        left -= 1
        let kind = bytes[position]
        position += 1
        switch kind {
        case 0:
            guard let pattern = bytes.bigEndian(UInt64.self, at: position) else { return nil }
            position += 8
            return .number(Double(bitPattern: pattern))
        case 1:
            guard position < bytes.count else { return nil }
            position += 1
            return .boolean(bytes[position - 1] != 0)
        case 2: return decodeText(bytes, at: &position, lengthBytes: 2).map(AMF0.string)
        case 3, 8:
            if kind == 8 { position += 4 }
            var properties: [Property] = []
            while let name = decodeText(bytes, at: &position, lengthBytes: 2) {
                if name.isEmpty, position < bytes.count, bytes[position] == 9 {
                    position += 1
                    return .object(properties)
                }
                guard let value = decode(bytes, at: &position, depth: depth + 1, &left) else { return nil }
                properties.append(Property(name: name, value: value))
            }
            return nil
        case 5, 6: return .null
        case 10:
            guard let count = decodeCount(bytes, at: &position, length: 4) else { return nil }
            var values: [AMF0] = []
            while values.count < count {
                guard let value = decode(bytes, at: &position, depth: depth + 1, &left) else { return nil }
                values.append(value)
            }
            return .array(values)
        case 12: return decodeText(bytes, at: &position, lengthBytes: 4).map(AMF0.string)
        default: return nil
        }
    }

    private static func decodeText(_ bytes: [UInt8], at position: inout Int, lengthBytes: Int) -> String? {
        guard let count = decodeCount(bytes, at: &position, length: lengthBytes), position + count <= bytes.count else {
            return nil
        }
        position += count
        return String(decoding: bytes[position - count..<position], as: UTF8.self)
    }

    private static func decodeCount(_ bytes: [UInt8], at position: inout Int, length: Int) -> Int? {
        defer { position += length }
        return bytes.bigEndian(Int.self, at: position, bytes: length)
    }
}
