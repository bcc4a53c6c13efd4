import HTTPInterface
import Logging
import MixModel
import RoomService
import TaskStore

// The entrances of streams and viewers, as `buildOrchestrator` assembles them.

func starter(
    of command: SocketWorkerStarter.Command, _ configuration: OrchestratorConfiguration
) -> SocketWorkerStarter {
    SocketWorkerStarter(
        command, worker: configuration.worker, orphanTimeout: configuration.orphanTimeout,
        logLevel: configuration.logLevel.rawValue, limits: configuration.limits)
}

/// Returns the server of Socket.IO, which serves the rooms' channels unless there is another handler.
func socketIOServer(
    _ configuration: OrchestratorConfiguration, _ channels: RoomChannels?, _ limits: RateLimits, _ metrics: Metrics,
    _ logger: Logger, handler: (any SocketIOHandler)?
) -> SocketIOServer? {
    guard let settings = configuration.socketIO else { return nil }
    let rooms = channels.map {
        SocketIORoomHandler(channels: $0, anonymousWriting: configuration.channel?.anonymousWriting ?? false)
    }
    return (handler ?? rooms).map { handler in
        SocketIOServer(
            settings: settings, apps: configuration.apps, limits: limits, handler: handler, metrics: metrics,
            logger: logger)
    }
}

/// Returns the supervisor of publishers over WebRTC. Without WebRTC in the configuration, the supervisor only ends
/// those of an earlier run.
func webrtc(
    _ configuration: OrchestratorConfiguration, _ metrics: Metrics, _ logger: Logger
) throws -> WebRTCSupervisor? {
    let starter = starter(of: .whip, configuration)
    guard let settings = configuration.webrtc, settings.takesPublishers, let ingest = configuration.ingest else {
        return try WebRTCSupervisor.Configuration.off(data: configuration.data, starter: starter).map {
            WebRTCSupervisor($0, metrics: metrics, logger: logger)
        }
    }
    return WebRTCSupervisor(
        try WebRTCSupervisor.Configuration(
            rules: settings.rules, ingest: ingest.rules, data: configuration.data, starter: starter,
            isKept: configuration.keepsRelays),
        metrics: metrics, logger: logger)
}

/// Returns the supervisor of viewers over WebRTC. Without it in the configuration, the supervisor only ends the workers
/// of an earlier run.
func viewers(
    _ configuration: OrchestratorConfiguration, _ registry: RoomRegistry, _ programs: ProgramGateway?, _ logger: Logger
) throws -> WebRTCViewers? {
    let starter = starter(of: .whep, configuration)
    guard let settings = configuration.webrtc, settings.takesViewers else {
        return try WebRTCViewers.Configuration.off(data: configuration.data, starter: starter).map {
            WebRTCViewers($0, registry: registry, logger: logger)
        }
    }
    return WebRTCViewers(
        try WebRTCViewers.Configuration(
            rules: settings.rules, limits: settings.viewerLimits, ingest: configuration.ingest?.rules,
            data: configuration.data, starter: starter, isKept: configuration.keepsRelays, programs: programs),
        registry: registry, logger: logger)
}

/// Returns the supervisor of the RTMP ingest. Without one in the configuration, the supervisor only ends that of an
/// earlier run.
func ingest(
    _ configuration: OrchestratorConfiguration, _ registry: RoomRegistry, _ courier: StreamCourier,
    _ limits: RateLimits, _ programs: ProgramGateway?, _ logger: Logger
) throws -> IngestSupervisor? {
    let starter = starter(of: .ingest, configuration)
    guard let settings = configuration.ingest else {
        guard
            let off = try IngestSupervisor.Configuration.off(
                data: configuration.data, starter: starter, callbacks: configuration.callbacks)
        else { return nil }
        return try IngestSupervisor(
            off, gate: ClosedIngestGate(), registry: registry, courier: courier, logger: logger)
    }
    return try IngestSupervisor(
        IngestSupervisor.Configuration(
            rules: settings.rules, files: IngestFiles(data: configuration.data), starter: starter,
            isKept: configuration.keepsRelays, hook: settings.hook, callbacks: configuration.callbacks,
            programs: programs),
        gate: PublisherAccess(
            signatures: settings.signatures, tokens: configuration.apps.tokens, names: settings.names,
            allowsPlay: settings.allowsPlay, playback: configuration.playback.access, limits: limits),
        registry: registry, courier: courier, logger: logger)
}

/// Joins the cluster; returns `nil` if the service runs alone.
func joinCluster(
    _ configuration: OrchestratorConfiguration, _ store: any TaskStore, identity: String, site: String?,
    _ shutdown: ShutdownNotice, _ logger: Logger
) async throws -> ClusterNode? {
    guard let node = configuration.node else { return nil }
    return try await ClusterNode.join(
        store, node, identity: identity, site: site, keepsRelays: configuration.keepsRelays, shutdown: shutdown,
        logger: logger)
}
