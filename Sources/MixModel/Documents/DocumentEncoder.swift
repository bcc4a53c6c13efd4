/// Writes values as JSON straight into a document, several times as fast as `JSONEncoder`, which builds a tree first.
///
/// Intended for documents of the store, whose types request one container at a time and fill it before the next, as
/// synthesised conformances do. `JSONDecoder` reads the result.
public final class DocumentEncoder: Encoder {
    public var codingPath: [any CodingKey] { [] }
    public var userInfo: [CodingUserInfoKey: Any] { [:] }

    private var writer: DocumentWriter
    /// Brackets that close the open containers, outermost first.
    private var open: [Unicode.Scalar] = []

    private init(_ writer: consuming DocumentWriter) { self.writer = writer }

    /// Returns the value as JSON.
    ///
    /// - Throws: `EncodingError` for numbers that JSON cannot represent.
    public static func json(_ value: some Encodable) throws -> String {
        var document = DocumentWriter(capacity: 1024)
        try write(value, to: &document)
        return document.text
    }

    static func write(_ value: some Encodable, to document: inout DocumentWriter) throws {
        // The document's writer is moved out in the meantime, so that its bytes are not copied.
        var writer = DocumentWriter()
        swap(&writer, &document)
        let encoder = DocumentEncoder(writer)
        writer = DocumentWriter()
        defer { swap(&encoder.writer, &document) }
        try encoder.write(value)
    }

    public func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed(encoder: self, depth: begin("{", "}")))
    }
    public func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(encoder: self, depth: begin("[", "]")) }
    public func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

    private func begin(_ bracket: Unicode.Scalar, _ closing: Unicode.Scalar) -> Int {
        writer.begin(bracket)
        open.append(closing)
        return open.count
    }

    private func close(downTo depth: Int) {
        while open.count > depth, let bracket = open.popLast() { writer.end(bracket) }
    }

    /// Prepares for the next element of the container at `depth`.
    private func separate(_ depth: Int) {
        close(downTo: depth)
        writer.separate()
    }

    private func key(_ key: some CodingKey, _ depth: Int) {
        close(downTo: depth)
        writer.key(key.stringValue)
    }

    private func write(_ value: some Encodable) throws {
        let depth = open.count
        let start = writer.bytes.count
        try value.encode(to: self)
        close(downTo: depth)
        if writer.bytes.count == start { writer.write("{}" as StaticString) }
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
            encoder.writer.writeNull()
        }
        func encode(_ value: Bool, forKey key: Key) {
            encoder.key(key, depth)
            encoder.writer.write(value)
        }
        func encode(_ value: String, forKey key: Key) {
            encoder.key(key, depth)
            encoder.writer.write(value)
        }
        func encode(_ value: Int, forKey key: Key) {
            encoder.key(key, depth)
            encoder.writer.write(integer: value)
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
            encoder.writer.write("\"super\":" as StaticString)
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
            encoder.writer.writeNull()
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

        func encodeNil() { encoder.writer.writeNull() }
        func encode(_ value: Bool) { encoder.writer.write(value) }
        func encode(_ value: String) { encoder.writer.write(value) }
        func encode(_ value: Double) throws { try encoder.writer.write(number: value) }
        func encode(_ value: Float) throws { try encoder.writer.write(number: value) }
        func encode(_ value: Int) { encoder.writer.write(integer: value) }
        func encode(_ value: Int8) { encoder.writer.write(integer: value) }
        func encode(_ value: Int16) { encoder.writer.write(integer: value) }
        func encode(_ value: Int32) { encoder.writer.write(integer: value) }
        func encode(_ value: Int64) { encoder.writer.write(integer: value) }
        func encode(_ value: UInt) { encoder.writer.write(integer: value) }
        func encode(_ value: UInt8) { encoder.writer.write(integer: value) }
        func encode(_ value: UInt16) { encoder.writer.write(integer: value) }
        func encode(_ value: UInt32) { encoder.writer.write(integer: value) }
        func encode(_ value: UInt64) { encoder.writer.write(integer: value) }
        func encode(_ value: some Encodable) throws { try encoder.write(value) }
    }
}
