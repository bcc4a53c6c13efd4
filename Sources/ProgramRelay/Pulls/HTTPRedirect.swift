import Foundation

/// Asks an HTTP server for the target of a redirect.
///
/// `souphttpsrc` does not report it, and following it inside the element would lead to unchecked addresses. The server
/// is asked only when a pull has ended without any media, so that other pulls cost no extra request.
enum HTTPRedirect {
    /// Largest number of redirects of one pull.
    static let most = 5
    private static let schemes = ["http", "https"]

    /// Returns the URL to which the server redirects; `nil` if it does not redirect, or not to an HTTP URL.
    ///
    /// - Parameter url: An HTTP URL, whose host is checked against the request's limits.
    static func target(of url: String, _ request: PullRequest) async -> String? {
        guard
            let exchange = try? HTTPExchange(
                url, limits: request.limits, trust: request.trust, timeout: min(request.options.connectTimeout, 5),
                extent: .head),
            case .success(let response) = await exchange.run()
        else { return nil }
        return location(in: response).flatMap { resolve($0, against: url) }
    }

    /// The value of `Location` of a response of status 301, 302, 303, 307 or 308; `nil` otherwise.
    static func location(in response: HTTPResponse) -> String? {
        [301, 302, 303, 307, 308].contains(response.status) ? response.field("location") : nil
    }

    /// Resolves a reference (RFC 3986 §5.2) against an HTTP URL.
    ///
    /// - Returns: An absolute HTTP URL without a user name; `nil` for anything else.
    static func resolve(_ reference: String, against url: String) -> String? {
        // Characters that are not allowed in URLs could end the request line or the element's property.
        guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let base = URL(string: url),
            let target = URL(string: reference, relativeTo: base)?.absoluteURL,
            let scheme = target.scheme?.lowercased(),
            schemes.contains(scheme), target.host != nil, target.user == nil
        else { return nil }
        return target.absoluteString
    }
}
