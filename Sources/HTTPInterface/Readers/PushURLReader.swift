import EventSubscription
import TextFormats

/// Reads the address of an output: its URL, and `kind` and `token`, with which a WHIP server is given in the usual
/// form, as an HTTP URL and a bearer token.
///
/// The result is one URL, which contains the token like the stream keys of other protocols.
struct PushURLReader {
    /// The protocols of outputs.
    private enum Kind: String, CaseIterable {
        case rtmp, srt, whip

        var schemes: [String] {
            switch self {
            case .rtmp: ["rtmp", "rtmps"]
            case .srt: ["srt"]
            case .whip: ["whip", "whips", "http", "https"]
            }
        }
    }

    /// Longest token, in bytes, before it is encoded.
    private static let longestToken = 1024

    /// Reads `url`, `kind` and `token`.
    ///
    /// - Returns: The URL, checked only against the other fields.
    static func url(of reader: inout FieldReader) throws(InputError) -> String {
        var url = try reader.requiredString(
            "url", expected: "the URL to push to, such as rtmp://host/app/key")
        let kind = try reader.choice("kind", of: Kind.self)
        let token = try reader.string("token")
        // A redacted URL from an answer must not be accepted as a URL.
        guard !url.contains("***") else {
            throw InputError(
                .invalidField, field: reader.path(of: "url"), found: "a redacted URL",
                expected: "the URL with its stream key: responses show *** in its place")
        }
        if let kind {
            let scheme = url.firstRange(of: "://").map { url[..<$0.lowerBound].lowercased() } ?? ""
            guard kind.schemes.contains(scheme) else {
                let names = kind.schemes.map { $0 + "://" }.joined(separator: ", ")
                throw InputError(
                    .invalidField, field: reader.path(of: "url"),
                    expected: "a URL that starts with one of \(names), as \"kind\": \"\(kind.rawValue)\" says")
            }
            // In stored and planned URLs, the scheme states the protocol.
            if let secure = ["http": "whip", "https": "whips"][scheme] { url = secure + url.dropFirst(scheme.count) }
        }
        guard let token else { return url }
        return try self.url(url, with: token, field: reader.path(of: "token"))
    }

    private static func url(_ url: String, with token: String, field: String) throws(InputError) -> String {
        guard let start = url.firstRange(of: "://"), Kind.whip.schemes.contains(url[..<start.lowerBound].lowercased())
        else {
            throw InputError(
                .invalidField, field: field, found: "a token for another kind of output",
                expected: "a URL of a WHIP server: whip://, whips://, or http(s):// with \"kind\": \"whip\"")
        }
        guard (1...longestToken).contains(token.utf8.count), token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InputError(
                .invalidField, field: field,
                expected: "a bearer token: 1 to \(longestToken) printable ASCII characters without spaces")
        }
        guard !token.contains("***") else {
            throw InputError(.invalidField, field: field, found: "a redacted token", expected: "the token itself")
        }
        let authority = url[start.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else {
            throw InputError(
                .invalidField, field: field, found: "a second token", expected: "no token here, or none in the URL")
        }
        return url[..<start.upperBound] + "\(PercentEncoding.encoded(token))@" + url[start.upperBound...]
    }
}
