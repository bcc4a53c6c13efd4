import Hummingbird

/// `/publish/{room}`, `/watch/{room}` and `/embed/{room}`: the studio and the player in a browser; `/console`: the
/// operators' console. The pages are the same for every room and contain no secret; they work through the routes of
/// WHIP, playback and the API, to which their links are relative: a proxy may have the service below a path.
package struct PageController: Sendable {
    private let publish: WebPage
    private let watch: WebPage
    private let embed: WebPage
    private let console: WebPage

    /// - Parameter embed: A page with only the player, for frames on other sites.
    package init(publish: WebPage, watch: WebPage, embed: WebPage, console: WebPage) {
        self.publish = publish
        self.watch = watch
        self.embed = embed
        self.console = console
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("publish/{room}") { [publish] in try Self.answer(publish, $0, $1) }
        router.get("watch/{room}") { [watch] in try Self.answer(watch, $0, $1) }
        router.get("embed/{room}") { [embed] in try Self.answer(embed, $0, $1) }
        router.get("console") { [console] request, _ in Self.answer(console, request) }
    }

    /// Answers with a page. The room need not exist, but its name must be valid.
    private static func answer(_ page: WebPage, _ request: Request, _ context: OrchestratorContext) throws -> Response {
        _ = try context.identifier("room")
        return answer(page, request)
    }

    /// Answers with a page, or with a redirect to its address if that has more slashes than names, because the page's
    /// links are relative to the address without them.
    private static func answer(_ page: WebPage, _ request: Request) -> Response {
        let parts = request.uri.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .dropFirst()
        let names = parts.filter { !$0.isEmpty }.map { String(Substring($0)) }
        guard names.count < parts.count else { return page.response(to: request) }
        let way = String(repeating: "../", count: parts.count - 1)
        let query = request.uri.query.map { "?" + $0 } ?? ""
        return BrowserVisit.response(to: way + names.joined(separator: "/") + query)
    }
}
