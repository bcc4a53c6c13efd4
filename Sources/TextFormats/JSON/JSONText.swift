/// Writes compact JSON documents. Keys are sorted by their bytes, and UTF-8 is not escaped.
package enum JSONText {
    package static func of(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    package static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes += "null".utf8
        case .boolean(let flag): bytes += (flag ? "true" : "false").utf8
        case .number(let number): bytes += text(number).utf8
        case .string(let text): append(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let fields):
            bytes.append(UInt8(ascii: "{"))
            for (index, key) in fields.keys.sorted(by: { $0.precedesInUTF8($1) }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                append(key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(fields[key] ?? .null, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Returns a number in its usual notation, such as `720` or `0.5`.
    package static func text(_ number: Double) -> String { Int(exactly: number).map(String.init) ?? "\(number)" }

    /// Appends a string with its quotation marks.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\r"): bytes += "\\r".utf8
            case UInt8(ascii: "\t"): bytes += "\\t".utf8
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes.append(UInt8(ascii: "0") + (byte >> 4))
                bytes.append((byte & 15) < 10 ? UInt8(ascii: "0") + (byte & 15) : UInt8(ascii: "a") + (byte & 15) - 10)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
