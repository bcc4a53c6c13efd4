/// The packets of one HTTP body.
///
/// Version 4 joins texts with U+001E. Version 3 writes the length of each packet before it, in UTF-16 units, or, if the
/// client accepts it, in a binary form with lengths in bytes.
public enum EngineIOPayload {
    private static let separator: UInt8 = 0x1E
    /// Maximum number of digits in a length.
    private static let longestLength = 9

    // MARK: Decoding

    /// - Parameter isBinary: Whether the body is `application/octet-stream`.
    public static func decode(
        _ bytes: [UInt8], isBinary: Bool, version: EngineIOVersion, limits: EngineIOLimits
    ) throws(EngineIOFailure) -> [EngineIOPacket] {
        guard !isBinary || version == .three else { throw .binaryPayload }
        if isBinary { return try decodeBinary(bytes, limits) }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
        return version == .four ? try decodeFour(text, limits) : try decodeThree(text, limits)
    }

    private static func decodeFour(_ text: String, _ limits: EngineIOLimits) throws(EngineIOFailure) -> [EngineIOPacket]
    {
        var packets: [EngineIOPacket] = []
        var rest = text[...]
        while true {
            guard packets.count < limits.packets else { throw .tooManyPackets }
            let end = rest.utf8.firstIndex(of: separator)
            packets.append(try EngineIOPacket(text: rest[..<(end ?? rest.endIndex)], version: .four))
            guard let end else { return packets }
            rest = rest[rest.utf8.index(after: end)...]
        }
    }

    /// Clients that count characters instead of UTF-16 units write too small a length as soon as there is an emoji. The
    /// packet then continues until the beginning of another one.
    private static func decodeThree(
        _ text: String, _ limits: EngineIOLimits
    ) throws(EngineIOFailure) -> [EngineIOPacket] {
        var packets: [EngineIOPacket] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard packets.count < limits.packets else { throw .tooManyPackets }
            guard let (length, start) = length(rest.utf8) else { throw .badLength }
            var (units, end) = (0, start)
            while units < length {
                guard end < rest.endIndex else { throw .badLength }
                units += rest.unicodeScalars[end].utf16.count
                rest.unicodeScalars.formIndex(after: &end)
            }
            while end < rest.endIndex, !beginsPacket(rest[end...].utf8) { rest.unicodeScalars.formIndex(after: &end) }
            packets.append(try EngineIOPacket(text: rest[start..<end], version: .three))
            rest = rest[end...]
        }
        guard !packets.isEmpty else { throw .badLength }
        return packets
    }

    /// Returns a length and the position after its colon.
    private static func length(_ text: Substring.UTF8View) -> (length: Int, start: String.Index)? {
        guard let colon = text.prefix(longestLength + 1).firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex
        else { return nil }
        var length = 0
        for digit in text[..<colon] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            length = length * 10 + Int(digit - UInt8(ascii: "0"))
        }
        return (length, text.index(after: colon))
    }

    /// Returns whether a length and a packet's type follow.
    private static func beginsPacket(_ text: Substring.UTF8View) -> Bool {
        guard let (_, start) = length(text), start < text.endIndex else { return false }
        return (UInt8(ascii: "0")...UInt8(ascii: "6")).contains(text[start]) || text[start] == UInt8(ascii: "b")
    }

    private static func decodeBinary(
        _ bytes: [UInt8], _ limits: EngineIOLimits
    ) throws(EngineIOFailure) -> [EngineIOPacket] {
        var packets: [EngineIOPacket] = []
        var rest = bytes[...]
        while let kind = rest.popFirst() {
            guard packets.count < limits.packets else { throw .tooManyPackets }
            guard kind <= 1 else { throw .unknownType }
            var (length, digits) = (0, 0)
            while let digit = rest.popFirst(), digit != 255 {
                digits += 1
                guard digit < 10, digits <= longestLength else { throw .badLength }
                length = length * 10 + Int(digit)
            }
            guard digits > 0, length <= rest.count else { throw .badLength }
            let content = rest.prefix(length)
            rest = rest.dropFirst(length)
            if kind == 1 {
                packets.append(try EngineIOPacket(binary: [UInt8](content), version: .three))
            } else {
                guard let text = String(validating: content, as: UTF8.self) else { throw .notUTF8 }
                packets.append(try EngineIOPacket(text: text[...], version: .three))
            }
        }
        guard !packets.isEmpty else { throw .badLength }
        return packets
    }

    // MARK: Encoding

    /// - Parameter isTextOnly: Whether a client of version 3 does not accept the binary form.
    /// - Returns: The body, and whether it is `application/octet-stream`.
    public static func encode(
        _ packets: [EngineIOPacket], version: EngineIOVersion, isTextOnly: Bool
    ) -> (bytes: [UInt8], isBinary: Bool) {
        var bytes: [UInt8] = []
        if version == .four {
            for (index, packet) in packets.enumerated() {
                if index > 0 { bytes.append(separator) }
                bytes += packet.text(version).utf8
            }
            return (bytes, false)
        }
        if !isTextOnly, packets.contains(where: { $0.data == nil }) { return (encodeBinary(packets), true) }
        for packet in packets {
            let text = escaped(packet.text(version))
            bytes += "\(text.utf8.count):\(text)".utf8
        }
        return (bytes, false)
    }

    /// Returns the text with every non-ASCII character escaped as in JSON (RFC 8259 §7): only JSON strings in a
    /// Socket.IO packet contain such characters. Clients count UTF-16 units, characters or code points, which are then
    /// the same.
    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return text }
        return text.utf16.reduce(into: "") { escaped, unit in
            if unit < 0x80, let scalar = Unicode.Scalar(unit) {
                escaped.unicodeScalars.append(scalar)
            } else {
                let digits = String(unit, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }

    private static func encodeBinary(_ packets: [EngineIOPacket]) -> [UInt8] {
        packets.reduce(into: []) { bytes, packet in
            var content: [UInt8]
            if case .message(.binary(let message)) = packet {
                content = [EngineIOPacket.binaryType] + message
                bytes.append(1)
            } else {
                content = Array(packet.text(.three).utf8)
                bytes.append(0)
            }
            bytes += "\(content.count)".utf8.map { $0 - UInt8(ascii: "0") } + [255]
            bytes += content
        }
    }
}
