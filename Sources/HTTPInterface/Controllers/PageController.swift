import Hummingbird

/// `/publish/{room}`, `/watch/{room}` and `/embed/{room}`: the studio and the player in a browser; `/console`: the
/// operators' console. The pages are the same for every room and contain no secret; they work through the routes of
/// WHIP, playback and the API.
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
        router.get("console") { [console] request, _ in console.response(to: request) }
    }

    /// Answers with a page. The room need not exist, but its name must be valid.
    private static func answer(_ page: WebPage, _ request: Request, _ context: OrchestratorContext) throws -> Response {
        _ = try context.identifier("room")
        return page.response(to: request)
    }
}
