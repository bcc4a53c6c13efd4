import TextFormats

extension JSONLimits {
    /// The limits for layout files, which typically have a few hundred bytes.
    static let layouts = JSONLimits(
        longest: 256 * 1024, deepest: deepestLayout + 1, countsScalars: true, endsNumbersAtZero: true)

    /// The deepest level in a layout file; the outermost value is on level 0.
    fileprivate static let deepestLayout = 32
}

extension LayoutIssue {
    /// Creates the issue of a file that is not JSON.
    init(_ failure: JSONFailure, in bytes: [UInt8]) {
        let (found, expected) = failure.foundAndExpected(in: bytes)
        self.init(
            path: "$", at: JSONPosition(of: failure.place, in: bytes), found: found, expected: expected)
    }
}

extension JSONFailure {
    /// The position that an editor should show.
    fileprivate var place: Int {
        switch problem {
        case .range, .surrogate, .secondSurrogate, .utf8, .marks, .keyLength, .repeatedKey: start
        default: offset
        }
    }

    fileprivate func foundAndExpected(in bytes: [UInt8]) -> (found: String, expected: String) {
        switch problem {
        case .value, .wordTrue, .wordFalse, .wordNull: (byte(in: bytes), "a JSON value")
        case .key: (byte(in: bytes), "a key in double quotes")
        case .keyOrBrace: (byte(in: bytes), "a key in double quotes or `}`")
        case .colon: (byte(in: bytes), "`:`")
        case .commaOrBrace: (byte(in: bytes), "`,` or `}`")
        case .commaOrBracket: (byte(in: bytes), "`,` or `]`")
        case .endOfDocument: (byte(in: bytes), "the end of the file")
        case .integer, .digit: (byte(in: bytes), "a digit")
        case .range: ("a number beyond the range of a double", "a smaller number")
        case .quotationMark: (byte(in: bytes), "`\"`")
        case .controlCharacter: (byte(in: bytes), "`\"` before the end of the line")
        case .escape: (byte(in: bytes), "an escape: one of \"\\/bfnrtu")
        case .hexadecimalDigits: (byte(in: bytes), "four hexadecimal digits")
        case .surrogate, .secondSurrogate: ("half of a surrogate pair", "both halves")
        case .utf8: ("bytes that are not UTF-8", "text in UTF-8")
        case .marks: ("a letter with too many combining marks", "at most \(String.mostMarksInARow)")
        case .length: ("\(bytes.count) bytes", "at most \(JSONLimits.layouts.longest) bytes")
        case .depth:
            (
                "nesting deeper than \(JSONLimits.deepestLayout)",
                "at most \(JSONLimits.deepestLayout) levels"
            )
        case .keyLength: ("a long key", "at most \(JSONLimits.layouts.longestKey) bytes")
        case .members: (byte(in: bytes), "at most \(JSONLimits.layouts.mostMembers) keys")
        case .repeatedKey: ("the key again", "it once")
        }
    }

    private func byte(in bytes: [UInt8]) -> String {
        guard offset < bytes.count else { return "the end of the file" }
        let byte = bytes[offset]
        return byte > 0x20 && byte < 0x7F
            ? "`\(Character(UnicodeScalar(byte)))`" : "byte 0x\(String(byte, radix: 16, uppercase: true))"
    }
}
