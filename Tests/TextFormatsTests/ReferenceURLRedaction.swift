/// The first form of the rule, over Characters: easy to read, but quadratic for arbitrary text. The fast form must
/// agree with it wherever the text is ASCII.
struct ReferenceURLRedaction {
    /// The URL without its secrets: `rtmp://host:1935/live/***`.
    let url: String

    /// Texts to replace, longest first, so that no part survives the replacement of another.
    private let secrets: [(text: String, replacement: String)]

    init(_ url: String) {
        let parts = Parts(url)
        self.url = parts.shown
        var secrets: [(text: String, replacement: String)] = [(url, parts.shown)]
        let key = parts.hidden
        let name = key.prefix { $0 != "?" }
        let pieces = key.split { "?&=/".contains($0) }
        // Shorter parts are not secrets, and replacing them would tear words apart.
        for part in [key, name] + pieces where part.count > 3 { secrets.append((String(part), "***")) }
        for part in [parts.user] + parts.user.split(separator: ":") where !part.isEmpty {
            secrets.append((String(part), "***"))
        }
        self.secrets = secrets.sorted { $0.text.count > $1.text.count }
    }

    /// Returns `text` without the URL's secrets, and without those of any other URL in it.
    func clean(_ text: String) -> String {
        Self.redact(
            secrets.reduce(text) { text, secret in
                secret.text.isEmpty ? text : text.replacing(secret.text, with: secret.replacement)
            })
    }

    /// Returns the URL without its secrets and everything behind them; `***` for a text that is not a URL.
    static func shown(_ url: String) -> String {
        guard let separator = url.firstRange(of: "://"), url[..<separator.lowerBound].allSatisfy(isInScheme) else {
            return "***"
        }
        return Parts(url).shown
    }

    private static func isInScheme(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "+-.".contains(character)
    }

    /// Returns a text from another source in which every URL is replaced by its shown form. The text around the URLs
    /// stays.
    static func redact(_ text: String) -> String {
        guard text.contains("://") else { return text }
        var result = ""
        var word = ""
        func flush() {
            result += word.contains("://") ? redact(word: word) : word
            word = ""
        }
        for character in text {
            if character.isWhitespace || "\"'<>()[]{},;|`".contains(character), !isInHost(character, of: word) {
                flush()
                result.append(character)
            } else {
                word.append(character)
            }
        }
        flush()
        return result
    }

    /// Returns whether a bracket belongs to the host of a URL, as with IPv6 addresses.
    private static func isInHost(_ character: Character, of word: String) -> Bool {
        switch character {
        case "[": word.hasSuffix("://")
        case "]": word.lastIndex(of: "[").map { word[..<$0].hasSuffix("://") && !word[$0...].contains("/") } ?? false
        default: false
        }
    }

    /// Returns a redacted word that contains a URL, possibly with text before it (`location=rtmp://…`) or punctuation
    /// behind it.
    private static func redact(word: String) -> String {
        guard let separator = word.firstRange(of: "://") else { return word }
        let scheme = word[..<separator.lowerBound].reversed().prefix { $0.isLetter || $0.isNumber }.reversed()
        let start = word.index(separator.lowerBound, offsetBy: -scheme.count)
        let end = word.lastIndex { !".:!".contains($0) }.map(word.index(after:)) ?? word.endIndex
        let url = String(word[start..<max(end, separator.upperBound)])
        return word[..<start] + shown(url) + word[max(end, separator.upperBound)...]
    }

    /// The parts of a URL, which may be malformed.
    private struct Parts {
        var shown: String
        /// The text behind the shown part of the path, query included.
        var hidden: Substring
        /// User name and password.
        var user: Substring

        init(_ url: String) {
            let scheme = url.firstRange(of: "://").map { url[..<$0.upperBound] } ?? ""
            let rest = url.dropFirst(scheme.count)
            let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
            let authority = rest[..<end]
            let at = authority.lastIndex(of: "@")
            user = at.map { authority[..<$0] } ?? ""
            let host = at.map { authority[authority.index(after: $0)...] } ?? authority
            let path = rest[end...].drop { $0 == "/" }
            let application = path.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            hidden = path.dropFirst(application.count).drop { $0 == "/" }
            // `app?query` has only one part, which may be the key.
            let isOnlyPart = hidden.isEmpty || !path.dropFirst(application.count).hasPrefix("/")
            if isOnlyPart { hidden = path }
            let isHost = host.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: ".-_:[]*{}".utf8.contains(byte)
                }
            }
            // A port that is not a number may contain anything.
            let port = host.lastIndex(of: ":").map { host[$0...].dropFirst() } ?? ""
            let isPort = host.hasSuffix("]") || port.allSatisfy(\.isNumber)
            shown = scheme + (isHost && isPort ? String(host) : "***")
            if !isOnlyPart { shown += "/\(application)" }
            if !hidden.isEmpty { shown += "/***" }
        }
    }
}
