extension StringProtocol {
    /// The text without leading and trailing spaces and tabs, the optional whitespace of HTTP (RFC 9110 §5.6.3).
    var trimmed: String {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let bytes = Substring(self).utf8
        guard let first = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return "" }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }
}
