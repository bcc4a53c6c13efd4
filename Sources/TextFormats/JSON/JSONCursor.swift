/// Reads the tokens of a JSON document.
struct JSONCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private(set) var offset = 0
    private var line = 1
    private var lineStart = 0

    /// Creates a cursor after the byte order mark, if there is one.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { offset = 3 }
    }

    var position: JSONPosition { JSONPosition(offset: offset, line: line, column: offset - lineStart + 1) }

    func failure(_ problem: JSONFailure.Problem, from start: Int? = nil) -> JSONFailure {
        JSONFailure(problem: problem, offset: offset, start: start ?? offset)
    }

    // MARK: Bytes

    /// Skips white space and returns the next byte without consuming it; `nil` at the end.
    @inline(__always)
    mutating func peek() -> UInt8? {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0D: offset += 1
            case 0x0A:
                offset += 1
                line += 1
                lineStart = offset
            case let byte: return byte
            }
        }
        return nil
    }

    mutating func skip() { offset += 1 }

    /// Skips white space and consumes the character, if it is next.
    mutating func take(_ character: Unicode.Scalar) -> Bool { peek() != nil && takeByte(character) }

    @inline(__always)
    private mutating func takeByte(_ character: Unicode.Scalar) -> Bool {
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    // MARK: Words and numbers

    mutating func word(_ word: StaticString, _ problem: JSONFailure.Problem) throws(JSONFailure) {
        let end = offset + word.utf8CodeUnitCount
        let isThere =
            end <= bytes.count
            && UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount).elementsEqual(
                bytes[offset..<end])
        guard isThere else { throw failure(problem) }
        offset = end
    }

    mutating func number(endsAtZero: Bool) throws(JSONFailure) -> Double {
        let start = offset
        _ = takeByte("-")
        let first = offset
        let integer = endsAtZero && takeByte("0") ? 0 : digits()
        guard offset > first, offset - first == 1 || bytes[first] != UInt8(ascii: "0") else { throw failure(.integer) }
        var isWhole = true
        if takeByte(".") {
            isWhole = false
            let fraction = offset
            _ = digits()
            guard offset > fraction else { throw failure(.digit) }
        }
        if takeByte("e") || takeByte("E") {
            isWhole = false
            if !takeByte("+") { _ = takeByte("-") }
            let exponent = offset
            _ = digits()
            guard offset > exponent else { throw failure(.digit) }
        }
        if isWhole, offset - first <= 15 { return start == first ? Double(integer) : -Double(integer) }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw failure(.range, from: start) }
        return value
    }

    /// Consumes digits and returns their value, which is correct for at most 18 digits.
    private mutating func digits() -> Int {
        var value = 0
        while offset < bytes.count, case let digit = bytes[offset] &- UInt8(ascii: "0"), digit <= 9 {
            value = value &* 10 &+ Int(digit)
            offset += 1
        }
        return value
    }

    // MARK: Strings

    /// Reads a string from its opening quotation mark on.
    mutating func string() throws(JSONFailure) -> String {
        let start = offset + 1
        var end = start
        var bits: UInt8 = 0
        while end < bytes.count {
            let byte = bytes[end]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            bits |= byte
            end += 1
        }
        offset = end
        guard end < bytes.count else { throw failure(.quotationMark) }
        guard bytes[end] != UInt8(ascii: "\\") else { return try escapedString(from: start) }
        guard bytes[end] == UInt8(ascii: "\"") else { throw failure(.controlCharacter) }
        // ASCII needs no validation: the standard library's is generic, and slower than everything else here.
        let slice = bytes[start..<end]
        let text = bits < 0x80 ? String(decoding: slice, as: UTF8.self) : try text(slice, from: start - 1)
        offset += 1
        return text
    }

    private mutating func escapedString(from start: Int) throws(JSONFailure) -> String {
        var plain = start
        var decoded: [UInt8] = []
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                decoded += bytes[plain..<offset]
                offset += 1
                return try decoded.withUnsafeBufferPointer { buffer throws(JSONFailure) in
                    try text(buffer[...], from: start - 1)
                }
            case UInt8(ascii: "\\"):
                decoded += bytes[plain..<offset]
                try escape(into: &decoded)
                plain = offset
            case 0..<0x20: throw failure(.controlCharacter)
            default: offset += 1
            }
        }
        throw failure(.quotationMark)
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(JSONFailure) {
        offset += 1
        guard offset < bytes.count else { throw failure(.escape) }
        let letter = bytes[offset]
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(letter)
        case UInt8(ascii: "b"): decoded.append(8)
        case UInt8(ascii: "f"): decoded.append(12)
        case UInt8(ascii: "n"): decoded.append(10)
        case UInt8(ascii: "r"): decoded.append(13)
        case UInt8(ascii: "t"): decoded.append(9)
        case UInt8(ascii: "u"):
            let start = offset
            offset += 1
            var code = try hexadecimal()
            if 0xD800..<0xDC00 ~= code, takeByte("\\"), takeByte("u") {
                let low = try hexadecimal()
                guard 0xDC00..<0xE000 ~= low else { throw failure(.secondSurrogate, from: start) }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw failure(.surrogate, from: start) }
            decoded += Array(String(Character(scalar)).utf8)
            return
        default: throw failure(.escape)
        }
        offset += 1
    }

    private mutating func hexadecimal() throws(JSONFailure) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard offset < bytes.count, let digit = Hexadecimal.value(bytes[offset]) else {
                throw failure(.hexadecimalDigits)
            }
            code = code << 4 | UInt32(digit)
            offset += 1
        }
        return code
    }

    private func text(_ slice: Slice<UnsafeBufferPointer<UInt8>>, from quote: Int) throws(JSONFailure) -> String {
        guard let text = String(validating: UnsafeBufferPointer(rebasing: slice), as: UTF8.self) else {
            throw failure(.utf8, from: quote)
        }
        guard !text.hasTooManyMarks else { throw failure(.marks, from: quote) }
        return text
    }
}
