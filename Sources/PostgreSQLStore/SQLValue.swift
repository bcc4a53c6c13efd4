import TextFormats

/// A parameter of a statement.
enum SQLValue: Sendable {
    case null
    case text(String)
    case integer(Int64)
    case real(Double)
    case bytes([UInt8])
    case texts([String?])
    case integers([Int64?])
    case reals([Double?])
    case blobs([[UInt8]?])

    static func text(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func real(_ number: Double?) -> SQLValue { number.map { .real($0) } ?? .null }
}

/// The parameters of one statement in the form that libpq expects.
struct EncodedParameters: Sendable {
    private struct Place: Sendable {
        var offset: Int
        var length: Int
        var isBinary: Bool
    }
    private var storage: [UInt8] = []
    private var places: [Place?] = []

    /// - Throws: `PGFailure` if a text contains a NUL character, which PostgreSQL cannot store.
    init(_ values: [SQLValue]) throws(PGFailure) {
        places.reserveCapacity(values.count)
        for value in values { try append(value) }
    }

    private mutating func append(_ value: SQLValue) throws(PGFailure) {
        let offset = storage.count
        var isBinary = false
        switch value {
        case .null:
            places.append(nil)
            return
        case .text(let text):
            try Self.check(text)
            storage += text.utf8
        case .integer(let number): storage += String(number).utf8
        case .real(let number): storage += "\(number)".utf8
        case .bytes(let bytes):
            isBinary = true
            storage += bytes
        case .texts(let texts):
            for case let text? in texts { try Self.check(text) }
            appendArray(texts) { text, storage in Self.quote(text, to: &storage) }
        case .integers(let numbers): appendArray(numbers) { number, storage in storage += String(number).utf8 }
        case .reals(let numbers): appendArray(numbers) { number, storage in storage += "\(number)".utf8 }
        case .blobs(let blobs):
            appendArray(blobs) { blob, storage in
                storage += #""\\x"#.utf8
                Hexadecimal.append(blob, to: &storage)
                storage.append(UInt8(ascii: "\""))
            }
        }
        places.append(Place(offset: offset, length: storage.count - offset, isBinary: isBinary))
        // Texts end with a NUL for libpq.
        storage.append(0)
    }

    private static func check(_ text: String) throws(PGFailure) {
        guard !text.utf8.contains(0) else {
            throw PGFailure(.refused, "a text contains a NUL character, which PostgreSQL cannot store", state: "22021")
        }
    }

    private mutating func appendArray<Element>(
        _ elements: [Element?], _ write: (Element, inout [UInt8]) -> Void
    ) {
        storage.append(UInt8(ascii: "{"))
        for (index, element) in elements.enumerated() {
            if index > 0 { storage.append(UInt8(ascii: ",")) }
            if let element { write(element, &storage) } else { storage += "NULL".utf8 }
        }
        storage.append(UInt8(ascii: "}"))
    }

    private static func quote(_ text: String, to storage: inout [UInt8]) {
        storage.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { storage.append(UInt8(ascii: "\\")) }
            storage.append(byte)
        }
        storage.append(UInt8(ascii: "\""))
    }

    var count: Int { places.count }

    /// Calls `body` with the pointers to texts or bytes, their lengths and their formats (0 text, 1 binary). They are
    /// valid for the length of the call.
    func withPointers<Value>(
        _ body: ([UnsafePointer<CChar>?], _ lengths: [Int32], _ formats: [Int32]) -> Value
    ) -> Value {
        storage.withUnsafeBytes { buffer in
            let pointers = places.map { place in
                place.flatMap { place in
                    buffer.baseAddress.map { ($0 + place.offset).assumingMemoryBound(to: CChar.self) }
                }
            }
            return body(pointers, places.map { Int32($0?.length ?? 0) }, places.map { $0?.isBinary ?? false ? 1 : 0 })
        }
    }
}
