import HTTPTypes

/// Parser of the `If-Match` and `If-None-Match` headers (RFC 9110 §8.8.3, §13.1.1, §13.1.2).
enum EntityTags {
    /// Returns whether a client has the content with this tag. Tags are compared weakly, because caches send weak tags.
    ///
    /// - Parameter header: `If-None-Match` of the request.
    static func isKnown(_ tag: String, ifNoneMatch header: String?) -> Bool {
        guard let header else { return false }
        return parts(of: header).contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
    }

    /// Parses the header.
    ///
    /// - Returns: The tags with their quotes, or `*` alone. A number without quotes, as people type it, is accepted. A
    ///   weak tag is accepted too, but matches nothing.
    /// - Throws: `HTTPProblem` of status 400 for any other text.
    static func parse(_ text: String) throws(HTTPProblem) -> [String] {
        let tags = parts(of: text)
        guard tags == ["*"] || tags.allSatisfy(isTag) else {
            throw malformed("If-Match", text, "*, or entity tags with their quotes, as in ETag: \"3\", \"4\"")
        }
        return tags
    }

    /// Splits a list at its commas, except for commas between the quotes of a tag, and trims its parts.
    private static func parts(of text: String) -> [String] {
        var isQuoted = false
        let parts = text.utf8.split(omittingEmptySubsequences: false) { byte in
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            return byte == UInt8(ascii: ",") && !isQuoted
        }
        let space = UInt8(ascii: " ")
        return parts.map { part in
            String(decoding: part.drop { $0 == space }.reversed().drop { $0 == space }.reversed(), as: UTF8.self)
        }
    }

    static func malformed(_ header: String, _ found: String, _ expected: String) -> HTTPProblem {
        HTTPProblem(
            .badRequest, "invalid-field", "A header is invalid",
            detail: "\(header): found \(found.prefix(bytes: 60))",
            field: header, expected: expected)
    }

    private static func isTag(_ text: String) -> Bool {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        let text = text.hasPrefix("W/") ? String(text.dropFirst(2)) : text
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return false }
        return text.utf8.dropFirst().dropLast().allSatisfy { $0 != 0x22 && $0 > 0x20 && $0 < 0x7F }
    }
}
