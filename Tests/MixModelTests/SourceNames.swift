/// The type names that a Swift source declares and mentions, outside comments and string literals.
struct SourceNames {
    /// Types at the top level that other files can use.
    private(set) var types: Set<String> = []
    /// Every type declared in the source, nested and private ones included.
    private(set) var declared: Set<String> = []
    /// Capitalised words that do not follow a dot, and may therefore name a top-level type.
    private(set) var mentioned: Set<String> = []

    private var braces = 0
    private var previous = ""
    private var isPrivate = false

    init(_ source: String) {
        var source = source
        source.withUTF8 { _ = code($0, from: 0, isInterpolation: false) }
    }

    private enum Kind { case letter, slash, quote, opening, closing, brace, other }
    /// A table, because tests run without optimisation and read a few megabytes.
    private static let kinds = (UInt8.min...UInt8.max).map { byte -> Kind in
        switch Character(Unicode.Scalar(byte)) {
        case "a"..."z", "A"..."Z", "0"..."9", "_": .letter
        case "/": .slash
        case "\"", "#": .quote
        case "(": .opening
        case ")": .closing
        case "{", "}": .brace
        default: byte < 0x80 ? .other : .letter
        }
    }

    /// Reads code up to its end, or up to the parenthesis that closes an interpolation. Returns the index behind it.
    private mutating func code(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, isInterpolation: Bool) -> Int {
        var (index, parentheses) = (start, 0)
        while index < bytes.count {
            let first = index
            index += 1
            switch Self.kinds[Int(bytes[first])] {
            case .slash: index = endOfComment(bytes, from: first) ?? index
            case .quote: index = literal(bytes, from: first)
            case .opening: parentheses += 1
            case .closing:
                parentheses -= 1
                if isInterpolation, parentheses < 0 { return index }
            case .brace: braces += bytes[first] == UInt8(ascii: "{") ? 1 : -1
            case .letter:
                while index < bytes.count, case .letter = Self.kinds[Int(bytes[index])] { index += 1 }
                let isMember = first > 0 && bytes[first - 1] == UInt8(ascii: ".")
                word(String(decoding: bytes[first..<index], as: UTF8.self), isMember: isMember)
            case .other: break
            }
        }
        return index
    }

    private static let introducers: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]

    private mutating func word(_ word: String, isMember: Bool) {
        if word.utf8.first.map({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) ?? false {
            if Self.introducers.contains(previous) {
                declared.insert(word)
                if braces == 0, !isPrivate { types.insert(word) }
            } else if !isMember {
                mentioned.insert(word)
            }
        }
        let isModifier = word == "final" || word == "indirect" || Self.introducers.contains(word)
        isPrivate = word == "private" || word == "fileprivate" || isPrivate && isModifier
        previous = word
    }

    /// Returns the index behind the comment that begins here, if there is one. Block comments are not nested.
    private func endOfComment(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        let rest = bytes[(start + 1)...]
        if rest.first == UInt8(ascii: "/") { return rest.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count }
        guard rest.first == UInt8(ascii: "*") else { return nil }
        return rest.indices.dropFirst(2).first { bytes[$0 - 1] == UInt8(ascii: "*") && bytes[$0] == UInt8(ascii: "/") }
            .map { $0 + 1 } ?? bytes.count
    }

    /// Returns the index behind the string literal that begins here. Reads the code of its interpolations.
    private mutating func literal(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        func has(_ text: String, at index: Int) -> Bool { bytes.dropFirst(index).starts(with: text.utf8) }
        var index = bytes[start...].firstIndex { $0 != UInt8(ascii: "#") } ?? bytes.count
        let hashes = String(repeating: "#", count: index - start)
        guard has("\"", at: index) else { return index }
        let quotes = has("\"\"\"", at: index) ? "\"\"\"" : "\""
        index += quotes.utf8.count
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\"") where has(quotes + hashes, at: index): return index + (quotes + hashes).utf8.count
            case UInt8(ascii: "\\") where has(hashes + "(", at: index + 1):
                index = code(bytes, from: index + hashes.utf8.count + 2, isInterpolation: true)
            case UInt8(ascii: "\\") where hashes.isEmpty: index += 2
            default: index += 1
            }
        }
        return bytes.count
    }
}
