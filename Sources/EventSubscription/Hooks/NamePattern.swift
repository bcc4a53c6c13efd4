/// A pattern for the names of streams at a media server, such as `{room}__{user}`.
///
/// `{app}`, `{room}`, `{user}` and `{stream}` match at least one byte, `*` any text, everything else itself. Each takes
/// the shortest text up to what follows it; the last one takes the rest. Parts before a `/` match the server's
/// application, and before that its virtual host: `{room}/{user}`, `live.example/live/{room}__{user}`. Without them any
/// application and host match.
///
/// All work is on bytes of UTF-8, and takes time proportional to the length of the pattern times that of the name.
package struct NamePattern: Hashable, Sendable {
    /// A field whose value a name contains.
    package enum Field: String, Hashable, Sendable, CaseIterable {
        /// The tenant to which the room belongs.
        case app
        case room
        case user
        /// `camera`, `screen` or `audio`.
        case stream
    }

    enum Piece: Hashable, Sendable {
        case literal([UInt8])
        case field(Field)
        case rest

        var isLiteral: Bool { if case .literal = self { true } else { false } }
    }

    /// The pattern as written.
    package let text: String
    /// Pieces of the name, of the application before it, and of the virtual host before that.
    let parts: [[Piece]]

    /// Maximum length of a pattern, in bytes.
    static let longest = 256
    /// Maximum length of a name, an application or a virtual host that can match, in bytes.
    static let longestName = 512

    init(text: String, parts: [[Piece]]) {
        self.text = text
        self.parts = parts
    }

    /// The fields that a matching name has.
    package var fields: [Field] {
        parts.joined().compactMap { if case .field(let field) = $0 { field } else { nil } }
    }

    /// Returns the text of each field, or `nil` if the name does not match. The text need not be a valid identifier.
    ///
    /// - Parameter components: The name, the application and the virtual host.
    package func match(_ components: [String]) -> [Field: String]? {
        var captures: [Field: String] = [:]
        for (pieces, text) in zip(parts, components) {
            guard text.utf8.count <= Self.longestName, Self.match(pieces, Array(text.utf8), &captures) else {
                return nil
            }
        }
        return captures
    }

    private static func match(_ pieces: [Piece], _ bytes: [UInt8], _ captures: inout [Field: String]) -> Bool {
        var position = 0
        var open: Piece?
        /// Ends the open piece before `end`.
        func close(at end: Int) {
            if case .field(let field)? = open {
                captures[field] = String(decoding: bytes[position..<end], as: UTF8.self)
            }
            open = nil
        }
        for (index, piece) in pieces.enumerated() {
            guard case .literal(let literal) = piece else {
                open = piece
                continue
            }
            guard let opened = open else {
                guard bytes[position...].starts(with: literal) else { return false }
                position += literal.count
                continue
            }
            let first = position + (opened == .rest ? 0 : 1)
            let isLast = index == pieces.count - 1
            let start =
                isLast ? endStart(of: literal, in: bytes, from: first) : self.start(of: literal, in: bytes, from: first)
            guard let start else { return false }
            close(at: start)
            position = start + literal.count
        }
        guard let opened = open else { return position == bytes.count }
        guard opened == .rest || position < bytes.count else { return false }
        close(at: bytes.count)
        return true
    }

    /// Returns the first position at which the bytes contain the word.
    private static func start(of word: [UInt8], in bytes: [UInt8], from first: Int) -> Int? {
        guard first + word.count <= bytes.count else { return nil }
        return (first...bytes.count - word.count).first { bytes[$0...].starts(with: word) }
    }

    /// Returns the position of the word at the end of the bytes.
    private static func endStart(of word: [UInt8], in bytes: [UInt8], from first: Int) -> Int? {
        let start = bytes.count - word.count
        return start >= first && bytes[start...].starts(with: word) ? start : nil
    }
}
