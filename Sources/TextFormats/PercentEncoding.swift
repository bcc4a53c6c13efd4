/// Percent-encoding that keeps only the unreserved characters of RFC 3986 §2.3, and form decoding
/// (`application/x-www-form-urlencoded`).
package enum PercentEncoding {
    /// Appends `text`, with every byte other than `A–Z a–z 0–9 - _ . ~` encoded as `%XX`.
    package static func append(_ text: some Sequence<UInt8>, to bytes: inout [UInt8]) {
        for byte in text {
            if isUnreserved[Int(byte)] {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
    }

    /// Returns `text`, encoded as a component of a path or of a query.
    package static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text.utf8, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes form data. A `+` becomes a space. A `%` not followed by two hexadecimal digits stays as it is. Bytes
    /// that are not UTF-8 become replacement characters.
    package static func formDecoded(_ text: some Collection<UInt8>) -> String {
        String(decoding: formDecodedBytes(text), as: UTF8.self)
    }

    /// Decodes form data as `formDecoded` does, into bytes that may not be UTF-8.
    package static func formDecodedBytes(_ text: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                var ahead = iterator
                if let high = ahead.next().flatMap(Hexadecimal.value),
                    let low = ahead.next().flatMap(Hexadecimal.value)
                {
                    bytes.append(high << 4 | low)
                    iterator = ahead
                } else {
                    bytes.append(byte)
                }
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let isUnreserved = (UInt8.min...UInt8.max).map { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_.~".utf8.contains(byte)
        }
    }
}
