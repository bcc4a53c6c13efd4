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
        router.get("publish/{room}") { [publish] _, _ in publish.response }
        router.get("watch/{room}") { [watch] _, _ in watch.response }
    }
}
