import HTTPTypes
import Hummingbird

/// The question whether somebody opens an address of an interface for programs in a browser.
enum BrowserVisit {
    /// Whether `request` comes from a browser's address bar: a `GET` for an HTML page, without a query and without anything that
    /// calls of programs have. Only what no call of an SDK looks like counts, so that none is ever sent to a page.
    static func isVisit(_ request: Request) -> Bool {
        request.method == .get && request.uri.query == nil && request.headers[.authorization] == nil
            && !request.headers.contains { $0.name.canonicalName.hasPrefix("x-acs-") }
            && request.headers[values: .accept].contains { asksForPage($0) }
    }

    /// The answer that shows the browser another page: `path` is relative to the address, so that it holds behind a proxy that
    /// serves the interface below a path of its own.
    static func response(to path: String) -> Response {
        Response(status: .seeOther, headers: [.location: path, .vary: "Accept", .cacheControl: "no-store"])
    }

    private static func asksForPage(_ accept: String) -> Bool {
        accept.split(separator: ",").contains { $0.prefix { $0 != ";" }.lowercased().trimmed == "text/html" }
    }
}
