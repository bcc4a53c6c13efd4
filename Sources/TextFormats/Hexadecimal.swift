/// Bytes as hexadecimal digits (RFC 4648 §8, lower-case when written, either case when read).
package enum Hexadecimal {
    /// Returns two digits for each byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends two digits for each byte, in UTF-8.
    package static func append(_ bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte))
        }
    }

    /// Returns the digit of the lower four bits, in UTF-8.
    package static func digit(_ value: UInt8) -> UInt8 {
        let value = value & 15
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// Returns the value of a digit in UTF-8; `nil` for any other byte.
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Returns the bytes of a text; `nil` unless it consists of pairs of digits.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(value)
        guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
