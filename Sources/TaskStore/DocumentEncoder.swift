/// Writes values as JSON (RFC 8259) straight into bytes; several times as fast as `JSONEncoder`, which builds a tree first.
///
/// For documents of this module: types that ask for one container each and fill it before the next, as synthesised
/// conformances do. `JSONDecoder` reads the result.
final class DocumentEncoder: Encoder {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    private var bytes: [UInt8] = []
    /// The brackets that close what is open, outermost first.
    private var open: [UInt8] = []

    static func json(_ value: some Encodable) throws -> String {
        let encoder = DocumentEncoder()
        encoder.bytes.reserveCapacity(1024)
        try encoder.write(value)
        return String(decoding: encoder.bytes, as: UTF8.self)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(encoder: self, depth: begin("{", "}")))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(encoder: self, depth: begin("[", "]")) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    // MARK: Bytes

    private func begin(_ bracket: Unicode.Scalar, _ closing: Unicode.Scalar) -> Int {
        bytes.append(UInt8(ascii: bracket))
        open.append(UInt8(ascii: closing))
        return open.count
    }

    private func close(downTo depth: Int) {
        while open.count > depth, let bracket = open.popLast() { bytes.append(bracket) }
    }

    /// Makes ready for the next element of the container at `depth`.
    private func separate(_ depth: Int) {
        close(downTo: depth)
        guard bytes.last != UInt8(ascii: "{"), bytes.last != UInt8(ascii: "[") else { return }
        bytes.append(UInt8(ascii: ","))
    }

    private func key(_ key: some CodingKey, _ depth: Int) {
        separate(depth)
        write(key.stringValue)
        bytes.append(UInt8(ascii: ":"))
    }

    private func write(_ value: some Encodable) throws {
        let depth = open.count
        let start = bytes.count
        try value.encode(to: self)
        close(downTo: depth)
        if bytes.count == start { write("{}" as StaticString) }
    }

    private func write(_ flag: Bool) { write(flag ? "true" : "false" as StaticString) }
    private func writeNull() { write("null" as StaticString) }
    private func write(integer: some FixedWidthInteger) { bytes.append(contentsOf: integer.description.utf8) }

    private func write(number: some BinaryFloatingPoint & CustomStringConvertible) throws {
        guard number.isFinite else {
            throw EncodingError.invalidValue(
                number, .init(codingPath: [], debugDescription: "JSON has no number for \(number)"))
        }
        bytes.append(contentsOf: number.description.utf8)
    }

    private func write(_ word: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    private func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            // Hardly any text has something to escape.
            if utf8.allSatisfy({ !Self.isEscaped($0) }) { bytes.append(contentsOf: utf8) } else { escape(utf8) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private func escape(_ utf8: UnsafeBufferPointer<UInt8>) {
        for byte in utf8 {
            switch byte {
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes.append(contentsOf: ("\\u00" + (digits.count < 2 ? "0" : "") + digits).utf8)
            case _ where Self.isEscaped(byte): bytes += [UInt8(ascii: "\\"), byte]
            default: bytes.append(byte)
            }
        }
    }
}

// MARK: - Containers

extension DocumentEncoder {
    private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: DocumentEncoder
        let depth: Int
        var codingPath: [any CodingKey] { [] }

        func encodeNil(forKey key: Key) {
            encoder.key(key, depth)
            encoder.writeNull()
        }
        func encode(_ value: Bool, forKey key: Key) {
            encoder.key(key, depth)
            encoder.write(value)
        }
        func encode(_ value: String, forKey key: Key) {
            encoder.key(key, depth)
            encoder.write(value)
        }
        func encode(_ value: Int, forKey key: Key) {
            encoder.key(key, depth)
            encoder.write(integer: value)
        }
        func encode(_ value: some Encodable, forKey key: Key) throws {
            encoder.key(key, depth)
            try encoder.write(value)
        }
        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            encoder.key(key, depth)
            return encoder.container(keyedBy: type)
        }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            encoder.key(key, depth)
            return encoder.unkeyedContainer()
        }
        func superEncoder() -> any Encoder {
            encoder.separate(depth)
            encoder.write("\"super\":" as StaticString)
            return encoder
        }
        func superEncoder(forKey key: Key) -> any Encoder {
            encoder.key(key, depth)
            return encoder
        }
    }

    private struct Unkeyed: UnkeyedEncodingContainer {
        let encoder: DocumentEncoder
        let depth: Int
        var count = 0
        var codingPath: [any CodingKey] { [] }

        private mutating func next() {
            encoder.separate(depth)
            count += 1
        }
        mutating func encodeNil() {
            next()
            encoder.writeNull()
        }
        mutating func encode(_ value: some Encodable) throws {
            next()
            try encoder.write(value)
        }
        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) -> KeyedEncodingContainer<NestedKey> {
            next()
            return encoder.container(keyedBy: type)
        }
        mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
            next()
            return encoder.unkeyedContainer()
        }
        mutating func superEncoder() -> any Encoder {
            next()
            return encoder
        }
    }

    private struct Single: SingleValueEncodingContainer {
        let encoder: DocumentEncoder
        var codingPath: [any CodingKey] { [] }

        func encodeNil() { encoder.writeNull() }
        func encode(_ value: Bool) { encoder.write(value) }
        func encode(_ value: String) { encoder.write(value) }
        func encode(_ value: Double) throws { try encoder.write(number: value) }
        func encode(_ value: Float) throws { try encoder.write(number: value) }
        func encode(_ value: Int) { encoder.write(integer: value) }
        func encode(_ value: Int8) { encoder.write(integer: value) }
        func encode(_ value: Int16) { encoder.write(integer: value) }
        func encode(_ value: Int32) { encoder.write(integer: value) }
        func encode(_ value: Int64) { encoder.write(integer: value) }
        func encode(_ value: UInt) { encoder.write(integer: value) }
        func encode(_ value: UInt8) { encoder.write(integer: value) }
        func encode(_ value: UInt16) { encoder.write(integer: value) }
        func encode(_ value: UInt32) { encoder.write(integer: value) }
        func encode(_ value: UInt64) { encoder.write(integer: value) }
        func encode(_ value: some Encodable) throws { try encoder.write(value) }
    }
}
