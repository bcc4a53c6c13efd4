import Foundation

/// The few values of AMF0 (Action Message Format, 2007) that RTMP commands need.
///
/// For the probe's own RTMP client. What a program's metadata needs is in `FLVMetadata`, which this does not use: it is
/// part of what is judged.
enum AMF0: Hashable, Sendable {
    case number(Double)
    case boolean(Bool)
    case string(String)
    case object([Property])
    case null

    struct Property: Hashable, Sendable {
        var name: String
        var value: AMF0
    }

    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    subscript(name: String) -> AMF0? {
        if case .object(let properties) = self { properties.first { $0.name == name }?.value } else { nil }
    }

    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .number(let value):
            bytes.append(0)
            let pattern = value.bitPattern
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: pattern >> shift))
            }
        case .boolean(let value): bytes += [1, value ? 1 : 0]
        case .string(let text):
            bytes.append(2)
            AMF0.append(text, to: &bytes)
        case .object(let properties):
            bytes.append(3)
            for property in properties {
                AMF0.append(property.name, to: &bytes)
                property.value.encode(into: &bytes)
            }
            bytes += [0, 0, 9]
        case .null: bytes.append(5)
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let characters = Array(text.utf8.prefix(0xFFFF))
        bytes += [UInt8(characters.count >> 8), UInt8(characters.count & 0xFF)]
        bytes += characters
    }

    /// Every value of a command; stops quietly at the first one that it does not know or that is cut short.
    static func decodeAll(_ bytes: [UInt8]) -> [AMF0] {
        var position = 0
        var values: [AMF0] = []
        while position < bytes.count, let value = decode(bytes, at: &position, depth: 0) { values.append(value) }
        return values
    }

    private static func decode(_ bytes: [UInt8], at position: inout Int, depth: Int) -> AMF0? {
        guard position < bytes.count, depth < 8 else { return nil }
        let kind = bytes[position]
        position += 1
        switch kind {
        case 0:
            guard position + 8 <= bytes.count else { return nil }
            let pattern = bytes[position..<position + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            position += 8
            return .number(Double(bitPattern: pattern))
        case 1:
            guard position < bytes.count else { return nil }
            position += 1
            return .boolean(bytes[position - 1] != 0)
        case 2: return decodeText(bytes, at: &position).map(AMF0.string)
        case 3, 8:
            if kind == 8 { position += 4 }
            var properties: [Property] = []
            while let name = decodeText(bytes, at: &position) {
                if name.isEmpty, position < bytes.count, bytes[position] == 9 {
                    position += 1
                    return .object(properties)
                }
                guard let value = decode(bytes, at: &position, depth: depth + 1) else { return nil }
                properties.append(Property(name: name, value: value))
            }
            return nil
        case 5, 6: return .null
        default: return nil
        }
    }

    private static func decodeText(_ bytes: [UInt8], at position: inout Int) -> String? {
        guard position + 2 <= bytes.count else { return nil }
        let count = Int(bytes[position]) << 8 | Int(bytes[position + 1])
        guard position + 2 + count <= bytes.count else { return nil }
        position += 2 + count
        return String(decoding: bytes[position - count..<position], as: UTF8.self)
    }
}
