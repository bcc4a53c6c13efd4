import TextFormats

/// Writes JSON (RFC 8259) straight into bytes.
///
/// The bytes written last decide whether a separator is needed, so callers write each value once and in order.
public struct DocumentWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Containers

    public mutating func object(_ fields: (inout DocumentWriter) throws -> Void) rethrows {
        begin("{")
        try fields(&self)
        end("}")
    }

    public mutating func array<Element>(
        _ elements: some Sequence<Element>, _ write: (inout DocumentWriter, Element) throws -> Void
    ) rethrows {
        begin("[")
        for element in elements {
            separate()
            try write(&self, element)
        }
        end("]")
    }

    /// Writes the content of an enum's object: the case's name as its only key, and under it an object with the
    /// associated values by label, `_0` for one without a label, as synthesised conformances do (SE-0295).
    mutating func values(
        of name: StaticString, _ fields: (inout DocumentWriter) throws -> Void
    ) rethrows {
        key(name)
        try object(fields)
    }
    mutating func values(of name: StaticString) { values(of: name) { _ in } }

    mutating func begin(_ bracket: Unicode.Scalar) { bytes.append(UInt8(ascii: bracket)) }
    mutating func end(_ bracket: Unicode.Scalar) { bytes.append(UInt8(ascii: bracket)) }

    /// Prepares for the next field or element.
    mutating func separate() {
        guard let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") else { return }
        bytes.append(UInt8(ascii: ","))
    }

    // MARK: Fields

    /// Writes the name of the next value.
    mutating func key(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        write(key)
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func key(_ key: String) {
        separate()
        write(key)
        bytes.append(UInt8(ascii: ":"))
    }

    public mutating func field(_ key: StaticString, _ value: String) {
        self.key(key)
        write(value)
    }
    public mutating func field(_ key: StaticString, _ value: Bool) {
        self.key(key)
        write(value)
    }
    public mutating func field(_ key: StaticString, _ value: some FixedWidthInteger) {
        self.key(key)
        write(integer: value)
    }
    public mutating func field(_ key: StaticString, _ value: Double) throws {
        self.key(key)
        try write(number: value)
    }
    /// Writes a field, or nothing if the value is `nil`, as synthesised conformances do.
    public mutating func field(_ key: StaticString, ifPresent value: String?) {
        if let value { field(key, value) }
    }
    public mutating func field(_ key: StaticString, ifPresent value: Bool?) {
        if let value { field(key, value) }
    }
    public mutating func field(_ key: StaticString, ifPresent value: (some FixedWidthInteger)?) {
        if let value { field(key, value) }
    }
    public mutating func field(_ key: StaticString, ifPresent value: Double?) throws {
        if let value { try field(key, value) }
    }
    public mutating func field(_ key: StaticString, _ value: some DocumentWritable) throws {
        self.key(key)
        try value.write(to: &self)
    }
    public mutating func field(_ key: StaticString, ifPresent value: (some DocumentWritable)?) throws {
        if let value { try field(key, value) }
    }
    mutating func field(_ key: StaticString, ifPresent names: [some Identifier]?) {
        guard let names else { return }
        self.key(key)
        array(names) { document, name in document.write(name.rawValue) }
    }
    public mutating func field(_ key: StaticString, _ values: [some DocumentWritable]) throws {
        self.key(key)
        try array(values) { document, value in try value.write(to: &document) }
    }
    /// Writes a field through `Encodable`, or nothing if the value is `nil`. For parts that most documents do not have:
    /// it takes some microseconds for each of their objects.
    public mutating func field(_ key: StaticString, encoding value: (some Encodable)?) throws {
        guard let value else { return }
        self.key(key)
        try DocumentEncoder.write(value, to: &self)
    }

    // MARK: Values

    mutating func write(_ flag: Bool) { write(flag ? "true" : "false" as StaticString) }
    mutating func writeNull() { write("null" as StaticString) }
    mutating func write(integer: some FixedWidthInteger) { bytes.append(contentsOf: integer.description.utf8) }

    /// Writes a number.
    ///
    /// - Throws: `EncodingError` for numbers that JSON cannot represent.
    mutating func write(number: some BinaryFloatingPoint & CustomStringConvertible) throws {
        guard number.isFinite else {
            throw EncodingError.invalidValue(
                number, .init(codingPath: [], debugDescription: "JSON cannot represent the number \(number)"))
        }
        bytes.append(contentsOf: number.description.utf8)
    }

    /// Writes a word unchanged; nothing is escaped.
    mutating func write(_ word: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    public mutating func write(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            // Hardly any text has characters that must be escaped.
            if utf8.allSatisfy({ !Self.isEscaped($0) }) { bytes.append(contentsOf: utf8) } else { escape(utf8) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func escape(_ utf8: UnsafeBufferPointer<UInt8>) {
        for byte in utf8 {
            switch byte {
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                Hexadecimal.append(CollectionOfOne(byte), to: &bytes)
            case _ where Self.isEscaped(byte): bytes += [UInt8(ascii: "\\"), byte]
            default: bytes.append(byte)
            }
        }
    }
}
