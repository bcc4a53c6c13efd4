import TextFormats

extension NamePattern {
    /// Creates a pattern by parsing its text.
    ///
    /// - Throws: `InputError` that names the position and the remedy, for operators.
    package init(_ text: String) throws(InputError) {
        func wrong(_ found: String, _ expected: String) -> InputError {
            InputError(.invalidField, field: "pattern", found: found, expected: expected)
        }
        guard 1...Self.longest ~= text.utf8.count, !Identifiers.hasControlCharacters(text) else {
            throw wrong("\(text.utf8.count) bytes", "1 to \(Self.longest) bytes without control characters")
        }
        let components = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard components.count <= 3, components.allSatisfy({ !$0.isEmpty }) else {
            throw wrong("\"\(text)\"", "name, application/name or host/application/name")
        }
        var parts: [[Piece]] = []
        for component in components.reversed() {
            parts.append(try Self.pieces(of: Array(component), in: text))
        }
        self.init(text: text, parts: parts)
        let fields = fields
        if let twice = Field.allCases.first(where: { field in fields.count { $0 == field } > 1 }) {
            throw wrong("{\(twice.rawValue)} twice in \"\(text)\"", "each placeholder once")
        }
    }

    private static func pieces(of bytes: [UInt8], in text: String) throws(InputError) -> [Piece] {
        func wrong(_ found: String, _ expected: String) -> InputError {
            InputError(.invalidField, field: "pattern", found: "\(found) in \"\(text)\"", expected: expected)
        }
        var pieces: [Piece] = []
        var literal: [UInt8] = []
        func flush() {
            if !literal.isEmpty { pieces.append(.literal(literal)) }
            literal = []
        }
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "{"):
                guard let close = rest.firstIndex(of: UInt8(ascii: "}")) else {
                    throw wrong("{ without }", "} after the placeholder's name")
                }
                let name = String(decoding: rest[..<close], as: UTF8.self)
                rest = rest[close...].dropFirst()
                flush()
                pieces.append(.field(try field(name, in: text)))
            case UInt8(ascii: "}"): throw wrong("} without {", "{ before the placeholder's name")
            case UInt8(ascii: "*"):
                flush()
                pieces.append(.rest)
            default: literal.append(byte)
            }
        }
        flush()
        for (left, right) in zip(pieces, pieces.dropFirst()) where !left.isLiteral && !right.isLiteral {
            throw wrong(
                "two placeholders in a row", "text between them, which tells where one ends, as in {room}__{user}")
        }
        return pieces
    }

    private static func field(_ name: String, in text: String) throws(InputError) -> Field {
        let names = Field.allCases.map(\.rawValue)
        guard let field = Field.allCases.first(where: { $0.rawValue.hasSameUTF8(as: name) }) else {
            throw InputError(
                .invalidField, field: "pattern", found: "{\(name.shortened(toBytes: 32))} in \"\(text)\"",
                expected: "one of " + names.map { "{\($0)}" }.joined(separator: ", ")
                    + Suggestion.phrase(for: name, among: names))
        }
        return field
    }
}
