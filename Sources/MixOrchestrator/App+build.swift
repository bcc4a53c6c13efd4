import EventSubscription
import Foundation
import HTTPInterface
import Hummingbird
import Logging
import MixModel
import RoomService
import ServiceLifecycle
import TaskStore

/// Builds the service, for `serve` and for the tests.
///
/// - Parameters:
///   - store: The store, which the caller closes after the application has run. No other service may use it meanwhile.
///   - starter: Starts relays.
///   - shutdown: The shutdown notice, which the caller runs after the application in the same service group.
///   - metrics: The metrics, which also measure the store.
///   - policy: Returns the delivery policy for each kind of subscription.
///   - hooks: The media servers whose callbacks are supported.
///   - door: Admits publishing clients of WCS; `nil` means the door of WHIP.
///   - playDoor: Admits playing clients of WCS; `nil` means the door of WHEP.
///   - previews: Maker of previews; `nil` means a process of its own.
///   - socketIO: Handler of the events of Socket.IO's clients.
/// - Returns: The application, which serves, supervises and shuts down as one service group.
func buildOrchestrator(
    _ configuration: OrchestratorConfiguration, store: any TaskStore, starter: any RelayStarting, logger: Logger,
    shutdown: ShutdownNotice = ShutdownNotice(), metrics: Metrics = Metrics(),
    policy: @escaping @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard,
    hooks: [any EventHook] = EventHooks.all, door: (any WebRTCDoor)? = nil,
    playDoor: (any WebRTCPlayDoor)? = nil, previews: (any PreviewMaking)? = nil, socketIO: (any SocketIOHandler)? = nil
) async throws -> some ApplicationProtocol {
    let certificate = try configuration.http.tls.map { try CertificateKeeper($0, logger: logger) }
    let identity = configuration.store.nodeName(data: configuration.data)
    let site = configuration.store.site(data: configuration.data)
    let cluster = try await joinCluster(configuration, store, identity: identity, site: site, shutdown, logger)
    let exchange = cluster.map { _ in NodeExchange() }
    let store: any TaskStore & Service =
        if let cluster { cluster } else { try await NodeStore.join(store, name: identity, site: site, logger: logger) }
    let sockets = try RelaySockets(directory: configuration.data + "/relays")
    let layouts = Layouts(
        pages: configuration.pages.map { _ in OverlaySupervisor.directory(data: configuration.data) })
    let index = SubscriptionIndex()
    let costFile = CostFile(data: configuration.data)
    let services = RoomServices(
        store: store, sockets: sockets, starter: MeasuredRelayStarter(starter: starter, metrics: metrics),
        layouts: layouts, metrics: metrics, logger: logger,
        defaultOutputs: configuration.roomOutputs, defaultLayout: configuration.roomLayout,
        defaultCanvas: configuration.roomCanvas,
        sourceReach: configuration.sources.reach.adding(configuration.ingest?.rules.places ?? []),
        outputReach: configuration.outputs.reach,
        places: OutputPlaces([HLSPlace(directory: configuration.hlsDirectory), configuration.recordings]),
        load: MachineLoad(settings: configuration.load, costs: costFile.read(logger: logger)),
        quotas: QuotaUsage(quotas: configuration.apps.quotas), subscriptions: index,
        viewers: ViewerCounts(
            limits: .init(
                all: configuration.playback.maxViewers, perProgram: configuration.playback.maxViewersPerProgram,
                apps: configuration.apps.sharers)),
        media: MediaLibrary(directory: configuration.mediaDirectory, data: configuration.data),
        playsWithoutOutputs: configuration.playsWithoutOutputs,
        appsThatStartTasks: configuration.apps.accessKeys.apps, rtmpPlace: configuration.ingest?.rules.playPlace,
        homes: cluster, relayDeadline: cluster?.relayDeadline)
    let thumbnails = configuration.thumbnails.map { settings in
        let process =
            previews == nil
            ? ThumbnailProcess(
                worker: configuration.worker, limits: configuration.limits,
                log: ThumbnailProcess.log(data: configuration.data), logger: logger) : nil
        return (settings: settings, process: process, maker: previews ?? process)
    }
    let pictures = recordingThumbnails(configuration, thumbnails?.maker, logger)
    let uploads = uploader(configuration, pictures, metrics, logger)
    let readiness = Readiness(store: store, shutdown: shutdown, logger: logger, uploads: uploads) {
        await starter.missing()
    }
    let registry = RoomRegistry(services: services, keepsRelays: configuration.keepsRelays)
    cluster?.attach(registry)
    cluster?.attach(services.load)
    cluster?.attach(
        NodeHealth(directory: configuration.data, workerProblem: { [readiness] in readiness.workerProblem }))
    if let exchange { cluster?.attach(exchange) }
    if let cluster, !configuration.keepsRelays, cluster.settings.drain > .zero {
        shutdown.onPrepare { _ = try? await cluster.drain(within: cluster.settings.drain) }
    }
    let images = ImageStore(
        data: configuration.data, layouts: configuration.layouts, fetch: FileFetch(allowed: configuration.sources),
        metrics: metrics, logger: logger)
    let directory = try LayoutDirectory(
        directory: configuration.layouts, layouts: layouts, store: store, registry: registry, images: images,
        metrics: metrics, defaultLayout: configuration.roomLayout, isShared: cluster != nil, logger: logger)
    cluster?.attach(layouts: { directory.look() })
    try await directory.restore()
    guard layouts.contains(configuration.roomLayout) || layouts.entry(configuration.roomLayout)?.good != nil else {
        throw StartupError(
            "configuration: rooms.layout: found \"\(configuration.roomLayout)\"; expected one of "
                + layouts.names.joined(separator: ", ") + " (from \(configuration.layouts))")
    }
    let subscriptions = SubscriptionRegistry(
        index: index, store: store, allowed: configuration.callbacks, quotas: configuration.apps.quotas)
    // From here on, subscribers are told of the rooms' changes.
    try await subscriptions.restore()
    let deliveries = DeliveryEngine(
        services: DeliveryServices(
            index: index, store: store, allowed: configuration.callbacks,
            callbackKeys: configuration.apps.callbackKeys, metrics: metrics, logger: logger, policy: policy))
    cluster?.attach(subscriptions, deliveries)
    let downloads = MediaDownloads(registry: registry, allowed: configuration.sources, logger: logger)
    await downloads.restore()
    try await registry.restore()
    readiness.roomsAreRestored()

    let limits = RateLimits(
        requests: configuration.http.requestRate, events: configuration.http.eventRate,
        failures: configuration.http.failureRate)
    let router = Router(context: OrchestratorContext.self, options: .autoGenerateHeadEndpoints)
    let methods = MethodTable()
    router.add(middleware: RequestMiddleware(metrics: metrics))
    router.add(middleware: ProblemMiddleware(methods: methods, forms: [HMSController.problemForm]))
    let nodes = cluster.flatMap { node in exchange.map { ClusterAccess(node: node, exchange: $0) } }
    let channels = configuration.channel.map {
        RoomChannels($0.settings, registry: registry, metrics: metrics, cluster: nodes)
    }
    if let channels { cluster?.attach(channels) }
    if let cluster, let exchange {
        router.add(middleware: NodeOrderMiddleware(node: cluster, channels: channels))
        let redirect =
            cluster.settings.viewers == .redirect ? ViewerRedirect(origins: configuration.playback.origins) : nil
        router.add(middleware: ForwardingMiddleware(node: cluster, exchange: exchange, redirect: redirect))
    }
    router.add(
        middleware: AccessMiddleware(tokens: configuration.apps.tokens, apps: configuration.apps.ids, limits: limits))
    let courier = StreamCourier(registry: registry, cluster: nodes)
    let pages = try pages(configuration, registry, courier, logger)
    let overlays = try overlays(configuration, registry, logger)
    EventController(
        pages: pages,
        parser: EventParser(allowList: configuration.sources, urlTemplate: configuration.urlTemplate),
        metrics: metrics, limits: limits,
        apps: configuration.apps.tokens.isEmpty ? configuration.apps.ids : nil, exchange: exchange
    ).addRoutes(to: router)
    NodeController(roster: NodeRoster(store: store, node: cluster), node: cluster, registry: registry)
        .addRoutes(to: router)
    let intake = HookIntake(registry: registry, metrics: metrics)
    let hookParser = EventParser(allowList: configuration.sources, urlTemplate: configuration.urlTemplate)
    HookController(
        intake: intake, rules: configuration.hooks, parser: hookParser, metrics: metrics, limits: limits, hooks: hooks
    ).addRoutes(to: router)
    SnapshotController(
        pages: pages,
        parser: EventParser(allowList: configuration.sources, urlTemplate: configuration.urlTemplate),
        metrics: metrics, limits: limits
    ).addRoutes(to: router)
    let settings = RoomSettingsReader(
        outputs: configuration.outputs, images: configuration.sources, defaultCanvas: configuration.roomCanvas,
        layouts: layouts)
    let params = LayoutParamsReader(
        layouts: layouts, defaultLayout: configuration.roomLayout, images: configuration.sources, directory: directory)
    let history = TaskHistory(registry: registry, store: store)
    RoomController(
        registry: registry, history: history, settings: settings, params: params, pages: pages, overlays: overlays
    ).addRoutes(to: router)
    ParticipantController(registry: registry).addRoutes(to: router)
    let livePreviews = thumbnails.flatMap { made in
        made.maker.map { Previews(settings: made.settings, sockets: sockets, maker: $0) }
    }
    PreviewController(registry: registry, previews: livePreviews).addRoutes(to: router)
    FeedController(registry: registry, listeners: services.listeners, numbers: services.numbers).addRoutes(to: router)
    TaskController(registry: registry, history: history, settings: settings, params: params)
        .addRoutes(to: router)
    LayoutParamsController(registry: registry, reader: params).addRoutes(to: router)
    OutputController(registry: registry, settings: settings).addRoutes(to: router)
    let shelves = shelves(configuration, uploads)
    RecordingController(registry: registry, shelf: shelves.recordings, archives: shelves.archives)
        .addRoutes(to: router)
    TimelineController(registry: registry, history: history).addRoutes(to: router)
    LayoutController(directory: directory, registry: registry, store: store, layouts: layouts, images: images)
        .addRoutes(to: router)
    LayoutPlanController(layouts: layouts, defaultCanvas: configuration.roomCanvas.canvas).addRoutes(to: router)
    SubscriptionController(registry: subscriptions, engine: deliveries).addRoutes(to: router)
    DeliveryController(registry: subscriptions).addRoutes(to: router)
    let elsewhere = cluster.flatMap { cluster in
        exchange.map { RemotePrograms(node: cluster, exchange: $0, registry: registry) }
    }
    let gateway = try elsewhere.map {
        try ProgramGateway(data: configuration.data, programs: $0, logger: logger)
    }
    let playback = Playback(
        PlaybackServices(
            sockets: sockets, viewers: services.viewers, metrics: metrics, logger: logger,
            latencyCap: configuration.playback.latencyCap,
            isWanted: { [registry] task in (try? await registry.snapshot(of: task))?.task(task)?.wantsProgram ?? false
            },
            elsewhere: elsewhere))
    LiveController(registry: registry, playback: playback, settings: configuration.playback).addRoutes(to: router)
    let hls = HLSFiles(directory: configuration.hlsDirectory)
    HLSController(
        registry: registry, files: hls, access: configuration.playback.access, origins: configuration.playback.origins,
        cache: SegmentCache()
    ).addRoutes(to: router)
    HLSSettingsController(registry: registry).addRoutes(to: router)
    addApsaraVideoRoutes(to: router, configuration, registry, subscriptions, limits, metrics)
    let webrtc = try webrtc(configuration, metrics, logger)
    let viewers = try viewers(configuration, registry, gateway, logger)
    let offers: any WebRTCDoor = door ?? webrtc ?? ClosedWebRTCDoor()
    let wcsHooks = configuration.wcs?.hooks.map {
        WCSHooks(
            $0, allowed: configuration.callbacks, host: configuration.listen.host, metrics: metrics, logger: logger)
    }
    let sayings = configuration.wcs.flatMap { _ in nodes.map { SayingCourier(cluster: $0) } }
    let wcs = configuration.wcs.map { settings in
        WCSServer(
            settings: settings, tokens: configuration.apps.tokens, registry: registry, courier: courier, door: offers,
            playDoor: playDoor ?? viewers ?? ClosedWebRTCPlayDoor(), hooks: wcsHooks, sayings: sayings, limits: limits,
            logger: logger)
    }
    if let wcs { cluster?.attach(wcs) }
    WCSController(
        server: wcs, settings: settings, parser: hookParser, canvas: configuration.roomCanvas.canvas,
        previews: livePreviews
    ).addRoutes(to: router)
    let hundredms = try configuration.hundredms.map {
        try HMSDesk(
            $0, data: configuration.data, registry: registry, pages: pages, parser: hookParser,
            outputs: settings, shelf: shelves.recordings, archives: shelves.archives, hls: hls,
            keys: configuration.apps.accessKeys, playback: configuration.playback.access,
            callbacks: configuration.callbacks, logger: logger)
    }
    HMSController(
        desk: hundredms, keys: configuration.apps.accessKeys, limits: limits, isSecure: configuration.http.tls != nil
    ).addRoutes(to: router)
    addChannelRoutes(to: router, configuration, channels, limits)
    let socketIOServer = socketIOServer(configuration, channels, limits, metrics, logger, handler: socketIO)
    SocketIOController(server: socketIOServer).addRoutes(to: router)
    let socketRoutes = [wcs?.route, socketIOServer?.route].compactMap(\.self)
    let webSockets = socketRoutes.isEmpty ? nil : WebSocketServer(routes: socketRoutes)
    MetricsController(
        metrics: metrics, registry: registry, layouts: layouts, images: images, readiness: readiness, uploads: uploads,
        deliveries: deliveries, subscriptions: subscriptions, channels: channels, socketIO: socketIOServer,
        node: cluster
    ).addRoutes(to: router)
    ServiceController(readiness: readiness, document: EmbeddedFiles.bytes(of: "openapi.yaml")).addRoutes(to: router)
    addPageRoutes(to: router, configuration)
    addWebRTCRoutes(
        to: router, configuration, publishers: webrtc, viewers: viewers, limits, homes: SessionHomes(node: cluster))
    methods.fill(from: router)

    let ingest = try ingest(configuration, registry, courier, limits, gateway, logger)
    if let ingest { cluster?.attach(ingest) }
    let unknown = RouteAccess.unknownRoutes(of: router)
    assert(unknown.isEmpty, "RouteAccess.table has no entry for \(unknown)")

    return Application(
        router: router,
        server: configuration.http.server(certificate: certificate, sockets: webSockets, logger: logger),
        configuration: ApplicationConfiguration(
            address: .hostname(configuration.listen.host, port: configuration.listen.port),
            serverName: "mixorchestrator",
            availableConnectionsDelegate: .maximum(configuration.http.maxConnections, logger: logger)),
        services: [
            // The store and the deliveries end after the rooms, whose last messages can therefore still be delivered.
            store, deliveries, registry, readiness, directory, downloads, pages,
            InventoryPoller(
                rules: configuration.hooks, parser: hookParser, intake: intake, registry: registry, metrics: metrics,
                logger: logger),
            LoadMonitor(load: services.load, registry: registry, file: costFile, logger: logger), playback,
            HLSRetention(
                files: hls,
                kept: configuration.hlsRetentionHours > 0 ? Double(configuration.hlsRetentionHours) * 3600 : nil,
                logger: logger),
        ]
            + ([
                ingest, webrtc, viewers, certificate, wcsHooks, hundredms, channels, socketIOServer, webSockets,
                thumbnails?.process, overlays, pictures, uploads, sayings, gateway, exchange,
            ]
            as [(any Service)?])
            .compactMap(\.self),
        onServerRunning: AcceptPause.install, logger: logger)
}
