/// Keeps the secrets of one URL out of words that people and logs see.
///
/// What follows the application's name (stream key, query) and user information count as secret.
public struct URLRedaction: Sendable {
    /// The URL without its secrets: `rtmp://host:1935/live/***`.
    public let url: String

    /// Longest first, so that no part survives the replacement of another.
    private let secrets: [(text: String, replacement: String)]

    public init(_ url: String) {
        let scheme = url.firstRange(of: "://").map { String(url[..<$0.upperBound]) } ?? ""
        let rest = url.dropFirst(scheme.count)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<slash]
        let at = authority.lastIndex(of: "@")
        let host = at.map { authority[authority.index(after: $0)...] } ?? authority
        let path = rest[slash...].drop { $0 == "/" }
        let pathEnd = path.firstIndex { $0 == "/" || $0 == "?" } ?? path.endIndex
        let application = path[..<pathEnd]
        let key = path[pathEnd...].drop { $0 == "/" }
        let clean = scheme + host + (application.isEmpty ? "" : "/\(application)") + (key.isEmpty ? "" : "/***")
        self.url = clean

        var secrets: [(text: String, replacement: String)] = [(url, clean)]
        let name = key.prefix { $0 != "?" }
        let pieces = key.split { "?&=/".contains($0) }
        // Parts shorter than this would tear words apart; they are no secret either.
        for part in [key, name] + pieces where part.count > 3 {
            secrets.append((String(part), "***"))
        }
        if let at {
            let user = authority[..<at]
            for part in [user] + user.split(separator: ":") where !part.isEmpty {
                secrets.append((String(part), "***"))
            }
        }
        self.secrets = secrets.sorted { $0.text.count > $1.text.count }
    }

    /// `text` without the URL's secrets.
    public func clean(_ text: String) -> String {
        secrets.reduce(text) { text, secret in
            secret.text.isEmpty ? text : text.replacing(secret.text, with: secret.replacement)
        }
    }
}
