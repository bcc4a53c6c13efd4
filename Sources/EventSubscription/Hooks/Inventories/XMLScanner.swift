import TextFormats

/// Reads XML 1.0 with statistics token by token: elements and their text, without attributes.
///
/// Supports only what such documents require: comments, instructions and CDATA are recognized; a document type is
/// refused, because it may define entities that expand. The work is proportional to the number of bytes.
struct XMLScanner {
    enum Token: Hashable {
        case start(String)
        case end(String)
        /// Text between two tags, without white space at its ends; never empty.
        case text(String)
    }

    private var bytes: ArraySlice<UInt8>
    private var open: [String] = []
    /// The end of an element without content, which follows its start.
    private var pending: String?
    private var hasRoot = false

    /// Maximum nesting depth of elements.
    static let deepest = 32
    /// Maximum length of an element's name, in bytes.
    static let longestName = 128

    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    /// Returns the next token; `nil` at the end of the document.
    ///
    /// - Throws: `InputError` for bytes that are not such a document.
    mutating func next() throws(InputError) -> Token? {
        if let name = pending {
            pending = nil
            return .end(name)
        }
        while let first = bytes.first {
            if first != UInt8(ascii: "<") {
                if let text = try text() { return .text(text) }
            } else if skip("<!--") {
                try drop(upTo: "-->")
            } else if skip("<![CDATA[") {
                let text = try drop(upTo: "]]>")
                if !open.isEmpty, !text.isEmpty { return .text(try Self.utf8(text)) }
            } else if skip("<?") {
                try drop(upTo: "?>")
            } else if skip("<!") {
                throw Self.wrong("a document type", "XML without one")
            } else {
                return try tag()
            }
        }
        guard open.isEmpty, hasRoot else { throw Self.wrong("the end of input", "the end of the document") }
        return nil
    }

    private mutating func tag() throws(InputError) -> Token {
        bytes.removeFirst()
        let isEnd = bytes.first == UInt8(ascii: "/")
        if isEnd { bytes.removeFirst() }
        let name = try Self.utf8(bytes.prefix { !" \t\r\n/>".utf8.contains($0) })
        guard 1...Self.longestName ~= name.utf8.count else { throw Self.wrong("a tag", "a name in it") }
        bytes = bytes.dropFirst(name.utf8.count)
        let isEmpty = try dropAttributes()
        if isEnd {
            guard open.popLast()?.hasSameUTF8(as: name) == true else { throw Self.wrong("</\(name)>", "its start") }
            return .end(name)
        }
        guard !open.isEmpty || !hasRoot else { throw Self.wrong("<\(name)>", "one root element") }
        guard open.count < Self.deepest else { throw Self.wrong("<\(name)>", "at most \(Self.deepest) levels") }
        hasRoot = true
        if isEmpty { pending = name } else { open.append(name) }
        return .start(name)
    }

    /// Skips the rest of a tag. Values in quotation marks may contain `>`.
    ///
    /// - Returns: Whether the tag ends with `/>`.
    private mutating func dropAttributes() throws(InputError) -> Bool {
        var quote: UInt8?
        var last: UInt8 = 0
        while let byte = bytes.popFirst() {
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: ">") {
                return last == UInt8(ascii: "/")
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            }
            last = byte
        }
        throw Self.wrong("the end of input", "the end of a tag")
    }

    private mutating func text() throws(InputError) -> String? {
        let raw = bytes.prefix { $0 != UInt8(ascii: "<") }
        bytes = bytes.dropFirst(raw.count)
        let isSpace = { (byte: UInt8) in " \t\r\n".utf8.contains(byte) }
        guard let start = raw.firstIndex(where: { !isSpace($0) }), let end = raw.lastIndex(where: { !isSpace($0) })
        else {
            return nil
        }
        guard !open.isEmpty else { throw Self.wrong("text", "an element") }
        return try Self.utf8(Self.resolved(raw[start...end]))
    }

    /// Replaces the predefined entities, and numeric character references.
    private static func resolved(_ raw: ArraySlice<UInt8>) throws(InputError) -> [UInt8] {
        guard raw.contains(UInt8(ascii: "&")) else { return Array(raw) }
        var bytes: [UInt8] = []
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&") else {
                bytes.append(byte)
                continue
            }
            let name = rest.prefix(12).prefix { $0 != UInt8(ascii: ";") }
            guard let scalar = scalar(String(decoding: name, as: UTF8.self)), name.count < rest.count else {
                throw wrong("an unknown entity", "&amp; or another one of XML")
            }
            rest = rest.dropFirst(name.count + 1)
            bytes.append(contentsOf: Array(String(scalar).utf8))
        }
        return bytes
    }

    private static func scalar(_ name: String) -> Unicode.Scalar? {
        switch name {
        case "lt": "<"
        case "gt": ">"
        case "amp": "&"
        case "quot": "\""
        case "apos": "'"
        default:
            if name.hasPrefix("#x") {
                UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
            } else if name.hasPrefix("#") {
                UInt32(name.dropFirst(1)).flatMap(Unicode.Scalar.init)
            } else {
                nil
            }
        }
    }

    private mutating func skip(_ word: String) -> Bool {
        guard bytes.starts(with: word.utf8) else { return false }
        bytes = bytes.dropFirst(word.utf8.count)
        return true
    }

    /// Skips everything up to and including a word, and returns the text before the word.
    @discardableResult private mutating func drop(upTo word: String) throws(InputError) -> ArraySlice<UInt8> {
        let (first, length) = (word.utf8.first, word.utf8.count)
        var index = bytes.startIndex
        while let next = bytes[index...].firstIndex(where: { $0 == first }) {
            guard !bytes[next...].starts(with: word.utf8) else {
                defer { bytes = bytes[next...].dropFirst(length) }
                return bytes[..<next]
            }
            index = next + 1
        }
        throw Self.wrong("the end of input", word)
    }

    private static func utf8(_ bytes: some Collection<UInt8>) throws(InputError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw wrong("other bytes", "UTF-8") }
        return text
    }

    private static func wrong(_ found: String, _ expected: String) -> InputError {
        InputError(.invalidField, field: "", found: found, expected: expected)
    }
}
