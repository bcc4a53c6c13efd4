import LayoutEngine

/// Reads one JSON document (RFC 8259) from UTF-8 bytes.
///
/// Stricter than most parsers: a key may occur only once in an object, because two readers could take different ones,
/// and nesting deeper than `deepest` is refused before it fills the stack. A leading byte order mark is skipped.
struct JSONParser {
    /// An error in the document, with its position.
    struct Failure: Error {
        /// Position of the error, in bytes from the start.
        var offset: Int
        var expected: String
    }

    /// Maximum depth of nested arrays and objects.
    static let deepest = 128
    /// Maximum length of a key, in bytes of UTF-8. Long keys would be costly to hash and compare.
    static let longestKey = 256
    /// Maximum number of keys in one object.
    static let mostKeys = 1000

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes)
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { parser.position = 3 }
        let value = try parser.value(depth: 0)
        guard parser.peek() == nil else { throw parser.failure("nothing after the document") }
        return value
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        switch peek() {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try number())
        default: throw failure("a value")
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> JSONValue {
        try enter(depth)
        var fields: [String: JSONValue] = [:]
        if take("}") { return .object(fields) }
        repeat {
            guard peek() == UInt8(ascii: "\"") else { throw failure("a key in quotation marks") }
            let start = position
            let key = try string()
            guard key.utf8.count <= Self.longestKey else {
                throw Failure(offset: start, expected: "a key of at most \(Self.longestKey) bytes")
            }
            guard take(":") else { throw failure("a colon") }
            guard fields.count < Self.mostKeys else { throw failure("at most \(Self.mostKeys) keys in an object") }
            guard fields.updateValue(try value(depth: depth), forKey: key) == nil else {
                throw Failure(offset: start, expected: "each key once")
            }
        } while take(",")
        guard take("}") else { throw failure("a comma or }") }
        return .object(fields)
    }

    private mutating func array(depth: Int) throws(Failure) -> JSONValue {
        try enter(depth)
        var elements: [JSONValue] = []
        if take("]") { return .array(elements) }
        repeat { elements.append(try value(depth: depth)) } while take(",")
        guard take("]") else { throw failure("a comma or ]") }
        return .array(elements)
    }

    private mutating func enter(_ depth: Int) throws(Failure) {
        guard depth <= Self.deepest else { throw failure("at most \(Self.deepest) levels") }
        position += 1
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Failure) -> JSONValue {
        let end = position + word.utf8CodeUnitCount
        let isThere =
            end <= bytes.count
            && UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount).elementsEqual(
                bytes[position..<end])
        guard isThere else { throw failure("\(word)") }
        position = end
        return value
    }

    private mutating func number() throws(Failure) -> Double {
        let start = position
        _ = takeByte("-")
        let first = position
        let integer = digits()
        guard position > first, position - first == 1 || bytes[first] != UInt8(ascii: "0") else {
            throw failure("a number without leading zeros")
        }
        var isWhole = true
        if takeByte(".") {
            isWhole = false
            let fraction = position
            _ = digits()
            guard position > fraction else { throw failure("a digit") }
        }
        if takeByte("e") || takeByte("E") {
            isWhole = false
            if !takeByte("+") { _ = takeByte("-") }
            let exponent = position
            _ = digits()
            guard position > exponent else { throw failure("a digit") }
        }
        if isWhole, position - first <= 15 { return start == first ? Double(integer) : -Double(integer) }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            throw Failure(offset: start, expected: "a number no larger than 1.8e308")
        }
        return value
    }

    /// Skips digits and returns their value, which is right for at most 18 digits.
    private mutating func digits() -> Int {
        var value = 0
        while position < bytes.count, case let digit = bytes[position] &- UInt8(ascii: "0"), digit <= 9 {
            value = value &* 10 &+ Int(digit)
            position += 1
        }
        return value
    }

    // MARK: Strings

    private mutating func string() throws(Failure) -> String {
        position += 1
        let start = position
        var bits: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let slice = bytes[start..<position]
                // ASCII needs no validation: the standard library's is generic, and slower than everything else here.
                let text = bits < 0x80 ? String(decoding: slice, as: UTF8.self) : try text(slice)
                position += 1
                return text
            case UInt8(ascii: "\\"): return try escapedString(from: start)
            case 0..<0x20: throw failure("an escape sequence instead of the control character")
            default:
                bits |= byte
                position += 1
            }
        }
        throw failure("a quotation mark")
    }

    private mutating func escapedString(from start: Int) throws(Failure) -> String {
        var plain = start
        var decoded: [UInt8] = []
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                decoded += bytes[plain..<position]
                position += 1
                return try decoded.withUnsafeBufferPointer { buffer throws(Failure) in try text(buffer[...]) }
            case UInt8(ascii: "\\"):
                decoded += bytes[plain..<position]
                try escape(into: &decoded)
                plain = position
            case 0..<0x20: throw failure("an escape sequence instead of the control character")
            default: position += 1
            }
        }
        throw failure("a quotation mark")
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(Failure) {
        position += 1
        guard position < bytes.count else { throw failure("an escape sequence") }
        let letter = bytes[position]
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(letter)
        case UInt8(ascii: "b"): decoded.append(8)
        case UInt8(ascii: "f"): decoded.append(12)
        case UInt8(ascii: "n"): decoded.append(10)
        case UInt8(ascii: "r"): decoded.append(13)
        case UInt8(ascii: "t"): decoded.append(9)
        case UInt8(ascii: "u"):
            position += 1
            var code = try hexadecimal()
            if 0xD800..<0xDC00 ~= code, takeByte("\\"), takeByte("u") {
                let low = try hexadecimal()
                guard 0xDC00..<0xE000 ~= low else { throw failure("the second half of a surrogate pair") }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw failure("both halves of a surrogate pair") }
            decoded += Array(String(Character(scalar)).utf8)
            return
        default: throw failure("an escape sequence: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u")
        }
        position += 1
    }

    private mutating func hexadecimal() throws(Failure) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard position < bytes.count, let digit = Character(Unicode.Scalar(bytes[position])).hexDigitValue else {
                throw failure("four hexadecimal digits")
            }
            code = code << 4 | UInt32(digit)
            position += 1
        }
        return code
    }

    private func text(_ slice: Slice<UnsafeBufferPointer<UInt8>>) throws(Failure) -> String {
        guard let text = String(validating: UnsafeBufferPointer(rebasing: slice), as: UTF8.self) else {
            throw failure("UTF-8")
        }
        guard !text.hasTooManyMarks else {
            throw failure("at most \(String.mostMarksInARow) combining marks in a row")
        }
        return text
    }

    // MARK: Bytes

    /// Skips white space and returns the next byte without consuming it; `nil` at the end.
    private mutating func peek() -> UInt8? {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case let byte: return byte
            }
        }
        return nil
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        peek() != nil && takeByte(character)
    }

    private mutating func takeByte(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private func failure(_ expected: String) -> Failure { Failure(offset: position, expected: expected) }
}

extension JSONParser.Failure {
    /// Returns the failure as an error about the whole document. It quotes at most one byte of it.
    func inputError(in bytes: UnsafeBufferPointer<UInt8>) -> InputError {
        var line = 1
        var lineStart = 0
        for index in 0..<min(offset, bytes.count) where bytes[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        let found =
            if offset >= bytes.count {
                "the end of input"
            } else if 0x21...0x7E ~= bytes[offset] {
                "'\(Character(Unicode.Scalar(bytes[offset])))'"
            } else {
                "byte \(bytes[offset])"
            }
        return InputError(
            .malformedJSON, field: "", found: "\(found) at line \(line), column \(offset - lineStart + 1)",
            expected: "valid JSON, here \(expected)")
    }
}
