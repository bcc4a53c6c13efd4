/// Removes the secrets of URLs from text for users and logs, by one rule for all processes.
///
/// Shows scheme, host and port, and the first component of the path if another follows (the name of an application,
/// such as `live`). Everything else counts as secret: stream keys, a path's only component, queries, user names and
/// passwords.
///
/// Much of this text is untrusted and may have any length and content. All work is done on the bytes of its UTF-8, in
/// time linear in their number.
public struct URLRedaction: Sendable {
    /// URL without its secrets, such as `rtmp://host:1935/live/***`.
    public let url: String

    /// Secrets and their replacements, longest first, so that no part survives the replacement of another.
    private let secrets: [(text: [UInt8], replacement: [UInt8])]

    public init(_ url: String) {
        let parts = Parts(url)
        self.url = parts.shown
        var secrets: [(text: [UInt8], replacement: [UInt8])] = [(Array(url.utf8), Array(parts.shown.utf8))]
        let stars = Array("***".utf8)
        let key = parts.hidden
        let name = key.prefix { $0 != UInt8(ascii: "?") }
        let pieces = key.split { byte in "?&=/".utf8.contains(byte) }
        // Replacing shorter parts would break up words, and they are not secrets.
        for part in [key, name] + pieces where part.count > 3 { secrets.append((Array(part), stars)) }
        for part in [parts.user] + parts.user.split(separator: UInt8(ascii: ":")) where !part.isEmpty {
            secrets.append((Array(part), stars))
        }
        self.secrets = secrets.sorted { $0.text.count > $1.text.count }
    }

    /// Returns `text` without the URL's secrets, and without those of any other URL in it.
    public func clean(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for secret in secrets where !secret.text.isEmpty {
            bytes = Self.replacing(secret.text, in: bytes, with: secret.replacement)
        }
        return Self.redact(String(decoding: bytes, as: UTF8.self))
    }

    private static func replacing(_ word: [UInt8], in text: [UInt8], with replacement: [UInt8]) -> [UInt8] {
        guard let first = word.first else { return text }
        var result: [UInt8] = []
        var copied = 0
        var position = 0
        while position <= text.count - word.count {
            if text[position] == first, text[position..<position + word.count] == word[...] {
                result += text[copied..<position]
                result += replacement
                position += word.count
                copied = position
            } else {
                position += 1
            }
        }
        return copied == 0 ? text : result + text[copied...]
    }

    /// Returns the URL without its secrets and without anything that follows it; `***` if the text is not a URL.
    public static func shown(_ url: String) -> String { shown(Substring(url).utf8) }

    private static func shown(_ url: Substring.UTF8View) -> String {
        guard let separator = separator(in: url), url[..<separator].allSatisfy(isInScheme) else { return "***" }
        return Parts(url).shown
    }

    /// Returns whether the text contains a URL.
    public static func hasURL(_ text: String) -> Bool { separator(in: Substring(text).utf8) != nil }

    /// Returns the position of the first `://`.
    private static func separator(in text: Substring.UTF8View) -> String.Index? {
        var rest = text
        while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
            rest = rest[colon...].dropFirst()
            if rest.starts(with: "//".utf8) { return colon }
        }
        return nil
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    private static func isInScheme(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "+-.".utf8.contains(byte) }

    /// Returns untrusted text with every URL in it redacted. The text around them stays.
    public static func redact(_ text: String) -> String {
        guard hasURL(text) else { return text }
        var result = ""
        result.reserveCapacity(text.utf8.count)
        var word = text.startIndex
        // Number of characters of `://` with which the word ends.
        var slashes = 0
        // Brackets of an IPv6 address belong to the URL.
        var isInBrackets = false
        for index in text.unicodeScalars.indices {
            let scalar = text.unicodeScalars[index]
            let isInHost = scalar == "[" && slashes == 3 || scalar == "]" && isInBrackets
            if isDelimiter(scalar), !isInHost {
                result += redact(word: Substring(text).utf8[word..<index])
                result.unicodeScalars.append(scalar)
                word = text.unicodeScalars.index(after: index)
                (slashes, isInBrackets) = (0, false)
                continue
            }
            switch scalar {
            case ":": slashes = 1
            case "/":
                slashes = (1...2).contains(slashes) ? slashes + 1 : 0
                isInBrackets = false
            default:
                slashes = 0
                if scalar == "[" { isInBrackets = true }
            }
        }
        return result + redact(word: Substring(text).utf8[word...])
    }

    private static func isDelimiter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case " ", "\t"..."\r", "\"", "'", "<", ">", "(", ")", "[", "]", "{", "}", ",", ";", "|", "`": true
        case "\u{80}"...: scalar.properties.isWhitespace
        default: false
        }
    }

    /// Redacts a word that may contain a URL, possibly with text in front of it (`location=rtmp://…`) or punctuation
    /// after it.
    private static func redact(word: Substring.UTF8View) -> String {
        guard let separator = separator(in: word) else { return String(Substring(word)) }
        let start = word[..<separator].lastIndex { !isAlphanumeric($0) }.map(word.index(after:)) ?? word.startIndex
        let behind = word.lastIndex { !".:!".utf8.contains($0) }.map(word.index(after:)) ?? word.endIndex
        let end = max(behind, word.index(separator, offsetBy: 3))
        return String(Substring(word[..<start])) + shown(word[start..<end]) + Substring(word[end...])
    }

    /// The parts of a URL, which need not be valid.
    private struct Parts {
        var shown: String
        /// Path after its shown part, query included.
        var hidden: Substring.UTF8View
        /// User name and password.
        var user: Substring.UTF8View

        init(_ url: String) { self.init(Substring(url).utf8) }

        init(_ url: Substring.UTF8View) {
            let slash = UInt8(ascii: "/")
            func endsPart(_ byte: UInt8) -> Bool { "/?#".utf8.contains(byte) }
            let start = URLRedaction.separator(in: url).map { url.index($0, offsetBy: 3) } ?? url.startIndex
            let rest = url[start...]
            let end = rest.firstIndex(where: endsPart) ?? rest.endIndex
            let authority = rest[..<end]
            let at = authority.lastIndex(of: UInt8(ascii: "@"))
            user = authority[..<(at ?? authority.startIndex)]
            let host = at.map { authority[$0...].dropFirst() } ?? authority
            let path = rest[end...].drop { $0 == slash }
            let application = path.prefix { !endsPart($0) }
            let behind = path[application.endIndex...]
            hidden = behind.drop { $0 == slash }
            // `app?query` has one part, which may be the key.
            let isOnlyPart = hidden.isEmpty || behind.first != slash
            if isOnlyPart { hidden = path }
            let isHost = host.allSatisfy { URLRedaction.isAlphanumeric($0) || ".-_:[]*{}".utf8.contains($0) }
            // A port that is not a number may be anything.
            let port = host.lastIndex(of: UInt8(ascii: ":")).map { host[$0...].dropFirst() }
            let isPort =
                host.last == UInt8(ascii: "]")
                || port?.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? true
            shown = String(Substring(url[..<start])) + (isHost && isPort ? String(Substring(host)) : "***")
            if !isOnlyPart { shown += "/\(Substring(application))" }
            if !hidden.isEmpty { shown += "/***" }
        }
    }
}
