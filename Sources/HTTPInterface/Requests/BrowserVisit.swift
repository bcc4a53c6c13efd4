import HTTPTypes
import Hummingbird

/// Detects that a person opens the address of an API in a browser.
enum BrowserVisit {
    /// Returns whether `request` comes from a browser's address bar: a `GET` for an HTML page, without a query and
    /// without anything that is specific to API calls. Requests that could be calls of an SDK do not count, so that no
    /// SDK is ever sent to a page.
    static func isVisit(_ request: Request) -> Bool {
        request.method == .get && request.uri.query == nil && request.headers[.authorization] == nil
            && !request.headers.contains { $0.name.canonicalName.hasPrefix("x-acs-") }
            && request.headers[values: .accept].contains { asksForPage($0) }
    }

    /// Returns a redirect to another page: `path` is relative to the address, so that it also works behind a proxy that
    /// serves the interface below another path.
    static func response(to path: String) -> Response {
        Response(status: .seeOther, headers: [.location: path, .vary: "Accept", .cacheControl: "no-store"])
    }

    private static func asksForPage(_ accept: String) -> Bool {
        accept.split(separator: ",").contains { $0.prefix { $0 != ";" }.lowercased().trimmed == "text/html" }
    }
}
