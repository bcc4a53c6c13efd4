import HTTPInterface
import Hummingbird
import RoomService

// Groups of routes, as `buildOrchestrator` adds them.

/// Adds the routes of publishers and viewers over WebRTC.
func addWebRTCRoutes(
    to router: some RouterMethods<OrchestratorContext>, _ configuration: OrchestratorConfiguration,
    publishers: WebRTCSupervisor?, viewers: WebRTCViewers?, _ limits: RateLimits, homes: SessionHomes
) {
    let (tokens, apps) = (configuration.apps.tokens, configuration.apps.ids)
    WHIPController(
        supervisor: publishers,
        access: WebRTCAccess(
            .publishing, tokens: tokens, apps: apps, signatures: configuration.ingest?.signatures ?? PlaybackAccess(),
            limits: limits),
        limits: limits, origins: configuration.webrtc?.origins ?? .none, homes: homes
    ).addRoutes(to: router)
    WHEPController(
        viewers: viewers,
        access: WebRTCAccess(
            .watching, tokens: tokens, apps: apps, signatures: configuration.playback.access, limits: limits),
        limits: limits, origins: configuration.webrtc?.origins ?? .none, homes: homes
    ).addRoutes(to: router)
}

/// Adds the routes of the ApsaraVideo Live interface.
func addApsaraVideoRoutes(
    to router: some RouterMethods<OrchestratorContext>, _ configuration: OrchestratorConfiguration,
    _ registry: RoomRegistry, _ subscriptions: SubscriptionRegistry, _ limits: RateLimits, _ metrics: Metrics
) {
    ApsaraVideoController(
        authenticator: WireAuthenticator(configuration.apps.accessKeys),
        tasks: WireTasks(
            registry: registry,
            reach: TaskParameters.Reach(
                outputs: configuration.outputs, images: configuration.sources, canvas: configuration.roomCanvas.canvas)),
        channels: WireChannels(registry: registry), subscriptions: WireSubscriptions(registry: subscriptions),
        limits: limits, metrics: metrics
    ).addRoutes(to: router)
}

/// Adds the routes of the rooms' channels, if there are any.
func addChannelRoutes(
    to router: some RouterMethods<OrchestratorContext>, _ configuration: OrchestratorConfiguration,
    _ channels: RoomChannels?, _ limits: RateLimits
) {
    guard let channels, let settings = configuration.channel else { return }
    ChannelController(
        channels: channels, streams: ChannelStreams(channels),
        access: ChannelAccess(
            tokens: configuration.apps.tokens, apps: configuration.apps.ids, signatures: settings.signatures,
            limits: limits, reads: settings.anonymousReading, writes: settings.anonymousWriting),
        limits: limits, origins: configuration.playback.origins
    ).addRoutes(to: router)
}

/// Adds the routes of the pages for browsers, with their scripts and styles.
func addPageRoutes(to router: some RouterMethods<OrchestratorContext>, _ configuration: OrchestratorConfiguration) {
    let (origins, access) = (configuration.playback.origins, configuration.playback.access)
    // A page has no token, and the signature in its address is for the program.
    let playsParticipants =
        configuration.webrtc?.takesViewers == true && configuration.apps.tokens.isEmpty && access.isOpen
    let facts: [String: String] = playsParticipants ? [:] : ["alone": "off"]
    PageController(
        publish: WebPage(EmbeddedFiles.bytes(of: "pages/publish.html")),
        watch: WebPage(EmbeddedFiles.bytes(of: "pages/watch.html"), facts: facts),
        embed: WebPage(EmbeddedFiles.bytes(of: "pages/embed.html"), framers: origins, facts: facts),
        console: WebPage(EmbeddedFiles.bytes(of: "pages/console.html"))
    ).addRoutes(to: router)
    AssetController(EmbeddedFiles.assets, origins: origins).addRoutes(to: router)
}
