import Hummingbird

/// `/publish/{room}` and `/watch/{room}`: the studio and the player in a browser. The pages are the same for every room and
/// hold no secret; what they do goes through the routes of WHIP and of playback.
package struct PageController: Sendable {
    private let publish: WebPage
    private let watch: WebPage

    package init(publish: WebPage, watch: WebPage) {
        self.publish = publish
        self.watch = watch
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("publish/{room}") { [publish] _, context in try Self.answer(publish, context) }
        router.get("watch/{room}") { [watch] _, context in try Self.answer(watch, context) }
    }

    /// The room need not exist, but has to have a name that one may have.
    private static func answer(_ page: WebPage, _ context: OrchestratorContext) throws -> Response {
        _ = try context.identifier("room")
        return page.response
    }
}
