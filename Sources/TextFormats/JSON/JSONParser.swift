/// A reader of one JSON document (RFC 8259) in UTF-8.
///
/// Nesting deeper than the limit is refused before it fills the stack. A leading byte order mark is skipped, but counts
/// in offsets and columns. Strings may not have too many combining marks in a row (`hasTooManyMarks`).
struct JSONParser<Tree: JSONTree> {
    private let limits: JSONLimits
    var cursor: JSONCursor

    static func parse(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) throws(JSONFailure) -> Tree {
        guard bytes.count <= limits.longest else { throw JSONFailure(problem: .length, offset: 0, start: 0) }
        var parser = JSONParser(limits: limits, cursor: JSONCursor(bytes))
        let value = try parser.value(depth: 0)
        guard parser.cursor.peek() == nil else { throw parser.cursor.failure(.endOfDocument) }
        return value
    }

    /// Reads a value nested in `depth` arrays and objects.
    private mutating func value(depth: Int) throws(JSONFailure) -> Tree {
        let first = cursor.peek()
        if depth >= limits.deepest, limits.countsScalars { throw cursor.failure(.depth) }
        let start = cursor.position
        // Each case creates its own value, which saves copying the content.
        switch first {
        case UInt8(ascii: "{"): return Tree(.object(try members(depth: depth + 1)), from: start, to: cursor.offset)
        case UInt8(ascii: "["): return Tree(.array(try elements(depth: depth + 1)), from: start, to: cursor.offset)
        case UInt8(ascii: "\""): return Tree(.string(try cursor.string()), from: start, to: cursor.offset)
        case UInt8(ascii: "t"):
            try cursor.word("true", .wordTrue)
            return Tree(.boolean(true), from: start, to: cursor.offset)
        case UInt8(ascii: "f"):
            try cursor.word("false", .wordFalse)
            return Tree(.boolean(false), from: start, to: cursor.offset)
        case UInt8(ascii: "n"):
            try cursor.word("null", .wordNull)
            return Tree(.null, from: start, to: cursor.offset)
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            let number = try cursor.number(endsAtZero: limits.endsNumbersAtZero)
            return Tree(.number(number), from: start, to: cursor.offset)
        default: throw cursor.failure(.value)
        }
    }

    private mutating func members(depth: Int) throws(JSONFailure) -> Tree.Members {
        try enter(depth)
        var members = Tree.noMembers
        if cursor.take("}") { return members }
        var count = 0
        repeat {
            guard cursor.peek() == UInt8(ascii: "\"") else { throw cursor.failure(count == 0 ? .keyOrBrace : .key) }
            let start = cursor.position
            let key = try cursor.string()
            guard key.utf8.count <= limits.longestKey else {
                throw JSONFailure(problem: .keyLength, offset: cursor.offset, start: start.offset)
            }
            guard cursor.take(":") else { throw cursor.failure(.colon) }
            guard count < limits.mostMembers else { throw cursor.failure(.members) }
            count += 1
            let value = try value(depth: depth)
            guard Tree.add(value, for: key, at: start, to: &members, isUnique: limits.refusesRepeatedKeys) else {
                throw JSONFailure(problem: .repeatedKey, offset: cursor.offset, start: start.offset)
            }
        } while cursor.take(",")
        guard cursor.take("}") else { throw cursor.failure(.commaOrBrace) }
        return members
    }

    private mutating func elements(depth: Int) throws(JSONFailure) -> [Tree] {
        try enter(depth)
        var elements: [Tree] = []
        if cursor.take("]") { return elements }
        repeat { elements.append(try value(depth: depth)) } while cursor.take(",")
        guard cursor.take("]") else { throw cursor.failure(.commaOrBracket) }
        return elements
    }

    private mutating func enter(_ depth: Int) throws(JSONFailure) {
        guard depth <= limits.deepest else { throw cursor.failure(.depth) }
        cursor.skip()
    }
}
