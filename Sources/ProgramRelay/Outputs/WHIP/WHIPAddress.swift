import Foundation
import RTMP

/// The endpoint of a WHIP server, from the URL of an output: `whip://` and `whips://` stand for HTTP without and with TLS, and a
/// bearer token may stand before the host.
struct WHIPAddress: Hashable, Sendable {
    /// Scheme of the output's URL: `whip` or `whips`.
    let scheme: String
    /// HTTP URL to which the offer is posted; without the token.
    let endpoint: String
    /// Bearer token, decoded; `nil` if the URL has none. Secret.
    let token: String?

    static let schemes = ["whip", "whips"]

    /// - Throws: `PullEnd` of kind `.badURL`, whose description contains no part of the URL.
    init(_ text: String) throws(PullEnd) {
        let address = try PullAddress(text)
        guard Self.schemes.contains(address.scheme) else {
            throw PullEnd(.badURL, "the URL does not begin with whip:// or whips://")
        }
        let user = address.credentials
        guard user?.password.isEmpty ?? true, user.map({ !$0.user.isEmpty }) ?? true,
            user?.user.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) ?? true
        else { throw PullEnd(.badURL, "what stands before the host must be a bearer token: whips://TOKEN@host/path") }
        let bare = address.withoutCredentials
        let url = (address.scheme == "whips" ? "https" : "http") + bare.dropFirst(address.scheme.utf8.count)
        guard Destination(url: url, limits: nil) != nil, url.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw PullEnd(.badURL, "the URL has no host and port that can be connected to")
        }
        scheme = address.scheme
        endpoint = url
        token = user?.user
    }

    /// The host of the endpoint, and the addresses that it may have.
    func destination(_ limits: Destination.Limits?) -> Destination? {
        Destination(url: endpoint, limits: nil).map { plain in
            Destination(
                scheme: scheme, host: plain.target.host, port: UInt16(clamping: plain.target.port), limits: limits)
        }
    }

    /// Returns the scheme by which `outputs.allow` names an HTTP URL; `nil` for other URLs.
    static func scheme(ofHTTP url: String) -> String? {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return ["http": "whip", "https": "whips"][scheme]
    }
}
