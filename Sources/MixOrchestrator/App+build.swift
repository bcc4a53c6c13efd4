import EventSubscription
import Foundation
import Hummingbird
import Logging
import MixModel
import ServiceLifecycle
import TaskStore

/// Puts the service together: used by `serve` and by the tests.
///
/// - Parameters:
///   - store: Closed by the caller after the application has run.
///   - starter: Starts relays.
/// - Returns: The application; it serves, supervises and shuts down as one service group.
func buildOrchestrator(
    _ configuration: OrchestratorConfiguration, store: any TaskStore, starter: any RelayStarting, logger: Logger
) async throws -> some ApplicationProtocol {
    let sockets = try RelaySockets(directory: configuration.data + "/relays")
    let layouts = LayoutDirectory(path: configuration.layouts, logger: logger)
    guard layouts.contains(configuration.roomLayout) else {
        throw StartupError(
            "configuration: rooms.layout: found \"\(configuration.roomLayout)\"; expected one of "
                + layouts.names.joined(separator: ", ") + " (from \(configuration.layouts))")
    }
    let services = RoomServices(
        store: store, sockets: sockets, starter: starter, layouts: layouts, logger: logger,
        defaultOutputs: configuration.roomOutputs, defaultLayout: configuration.roomLayout,
        defaultCanvas: configuration.roomCanvas)
    let registry = RoomRegistry(services: services, keepsRelays: configuration.keepsRelays)
    try await registry.restore()

    let router = Router()
    router.add(middleware: ProblemMiddleware())
    EventController(
        registry: registry,
        parser: EventParser(allowList: configuration.sources, urlTemplate: configuration.urlTemplate)
    ).addRoutes(to: router)
    RoomController(
        registry: registry, services: services,
        settings: RoomSettingsReader(
            outputs: configuration.outputs, defaultCanvas: configuration.roomCanvas, layouts: layouts)
    ).addRoutes(to: router)
    TaskController(registry: registry, services: services).addRoutes(to: router)
    LayoutController(registry: registry, layouts: layouts).addRoutes(to: router)
    LiveController(registry: registry, sockets: sockets).addRoutes(to: router)
    router.get("healthz") { _, _ in jsonResponse(["status": "ok"]) }

    return Application(
        router: router,
        configuration: ApplicationConfiguration(
            address: .hostname(configuration.listen.host, port: configuration.listen.port),
            serverName: "mixorchestrator"),
        services: [registry, LayoutWatcher(layouts: layouts, registry: registry)],
        logger: logger)
}

/// Notices edited layout files and has the rooms that use them planned anew.
struct LayoutWatcher: Service {
    let layouts: LayoutDirectory
    let registry: RoomRegistry
    static let interval: Duration = .milliseconds(500)

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                for name in layouts.refresh() { await registry.layoutChanged(name, at: MonotonicClock.now()) }
            }
        }
    }
}
