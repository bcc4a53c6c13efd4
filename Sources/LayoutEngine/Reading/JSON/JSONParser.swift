/// A strict JSON parser (RFC 8259) that keeps positions.
///
/// Operators need all issues of a file, with positions. Foundation's decoder stops at the first one and does not report
/// where it is.
struct JSONParser {
    /// The deepest nesting accepted, in levels. The limit keeps hostile input from exhausting the stack.
    static let deepestNesting = 32
    /// The largest file accepted, in bytes. Layouts have a few hundred.
    static let largestFile = 256 * 1024

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    private var lineStart = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    static func parse(_ bytes: [UInt8]) throws(JSONSyntaxError) -> JSONNode {
        guard bytes.count <= largestFile else {
            throw JSONSyntaxError(
                position: JSONPosition(line: 1, column: 1), found: "\(bytes.count) bytes",
                expected: "at most \(largestFile) bytes")
        }
        var parser = JSONParser(bytes)
        let node = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.index == bytes.count else { throw parser.unexpected("the end of the file") }
        return node
    }

    private var position: JSONPosition { JSONPosition(line: line, column: index - lineStart + 1) }
    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            index += 1
            if byte == 0x0A {
                line += 1
                lineStart = index
            }
        }
    }

    private func unexpected(_ expected: String) -> JSONSyntaxError {
        let found: String =
            switch next {
            case nil: "the end of the file"
            case let byte? where byte > 0x20 && byte < 0x7F: "`\(Character(UnicodeScalar(byte)))`"
            case let byte?: "byte 0x\(String(byte, radix: 16, uppercase: true))"
            }
        return JSONSyntaxError(position: position, found: found, expected: expected)
    }

    private mutating func value(depth: Int) throws(JSONSyntaxError) -> JSONNode {
        skipSpace()
        guard depth <= Self.deepestNesting else {
            throw JSONSyntaxError(
                position: position, found: "nesting deeper than \(Self.deepestNesting)",
                expected: "at most \(Self.deepestNesting) levels")
        }
        let start = position
        let value: JSONNode.Value
        switch next {
        case UInt8(ascii: "{"): value = .object(try members(depth: depth))
        case UInt8(ascii: "["): value = .array(try elements(depth: depth))
        case UInt8(ascii: "\""): value = .string(try string())
        case UInt8(ascii: "t"): value = try word("true", .boolean(true))
        case UInt8(ascii: "f"): value = try word("false", .boolean(false))
        case UInt8(ascii: "n"): value = try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte:
            value = .number(try number())
        default: throw unexpected("a JSON value")
        }
        return JSONNode(value: value, position: start)
    }

    private mutating func members(depth: Int) throws(JSONSyntaxError) -> [JSONMember] {
        index += 1
        skipSpace()
        var members: [JSONMember] = []
        if next == UInt8(ascii: "}") {
            index += 1
            return members
        }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else {
                throw unexpected(members.isEmpty ? "a key in double quotes or `}`" : "a key in double quotes")
            }
            let keyPosition = position
            let key = try string()
            skipSpace()
            guard next == UInt8(ascii: ":") else { throw unexpected("`:`") }
            index += 1
            members.append(JSONMember(key: key, keyPosition: keyPosition, node: try value(depth: depth + 1)))
            if try isLast(closing: UInt8(ascii: "}"), "`,` or `}`") { return members }
        }
    }

    private mutating func elements(depth: Int) throws(JSONSyntaxError) -> [JSONNode] {
        index += 1
        skipSpace()
        var elements: [JSONNode] = []
        if next == UInt8(ascii: "]") {
            index += 1
            return elements
        }
        while true {
            elements.append(try value(depth: depth + 1))
            if try isLast(closing: UInt8(ascii: "]"), "`,` or `]`") { return elements }
        }
    }

    private mutating func isLast(closing: UInt8, _ expected: String) throws(JSONSyntaxError) -> Bool {
        skipSpace()
        guard next == closing || next == UInt8(ascii: ",") else { throw unexpected(expected) }
        let isLast = next == closing
        index += 1
        return isLast
    }

    private mutating func word(
        _ word: String, _ value: JSONNode.Value
    ) throws(JSONSyntaxError) -> JSONNode.Value {
        guard bytes[index...].starts(with: word.utf8) else { throw unexpected("a JSON value") }
        index += word.utf8.count
        return value
    }

    private mutating func number() throws(JSONSyntaxError) -> Double {
        let start = index
        if next == UInt8(ascii: "-") { index += 1 }
        if next == UInt8(ascii: "0") { index += 1 } else { try digits() }
        if next == UInt8(ascii: ".") {
            index += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            throw JSONSyntaxError(
                position: JSONPosition(line: line, column: start - lineStart + 1),
                found: "a number beyond the range of a double", expected: "a smaller number")
        }
        return value
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = index
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
        guard index > start else { throw unexpected("a digit") }
    }
}

// MARK: - Strings
extension JSONParser {
    private mutating func string() throws(JSONSyntaxError) -> String {
        let start = position
        index += 1
        var content: [UInt8] = []
        while let byte = next, byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\") {
                try escape(into: &content)
            } else if byte < 0x20 {
                throw unexpected("`\"` before the end of the line")
            } else {
                content.append(byte)
                index += 1
            }
        }
        guard next != nil else { throw unexpected("`\"`") }
        index += 1
        guard let text = String(validating: content, as: UTF8.self) else {
            throw JSONSyntaxError(position: start, found: "bytes that are not UTF-8", expected: "text in UTF-8")
        }
        guard !text.hasTooManyMarks else {
            throw JSONSyntaxError(
                position: start, found: "a letter with too many combining marks",
                expected: "at most \(String.mostMarksInARow)")
        }
        return text
    }

    private mutating func escape(into content: inout [UInt8]) throws(JSONSyntaxError) {
        index += 1
        let simple: UInt8
        switch next {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): simple = bytes[index]
        case UInt8(ascii: "b"): simple = 0x08
        case UInt8(ascii: "f"): simple = 0x0C
        case UInt8(ascii: "n"): simple = 0x0A
        case UInt8(ascii: "r"): simple = 0x0D
        case UInt8(ascii: "t"): simple = 0x09
        case UInt8(ascii: "u"):
            content += Array(String(Character(try unicodeEscape())).utf8)
            return
        default: throw unexpected("an escape: one of \"\\/bfnrtu")
        }
        content.append(simple)
        index += 1
    }

    private mutating func unicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position
        let first = try codeUnit()
        var value = UInt32(first)
        if UTF16.isLeadSurrogate(first), bytes[index...].starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
            index += 1
            let second = try codeUnit()
            if UTF16.isTrailSurrogate(second) {
                value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
            }
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw JSONSyntaxError(position: start, found: "half of a surrogate pair", expected: "both halves")
        }
        return scalar
    }

    /// Reads `uXXXX`.
    private mutating func codeUnit() throws(JSONSyntaxError) -> UInt16 {
        index += 1
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
                throw unexpected("four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
            index += 1
        }
        return unit
    }
}
