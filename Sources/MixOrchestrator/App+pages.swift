import Logging
import RoomService

/// Returns the supervisor of web pages. Unless pages are configured, it refuses them and ends those of an earlier run.
func pages(
    _ configuration: OrchestratorConfiguration, _ registry: RoomRegistry, _ courier: StreamCourier, _ logger: Logger
) throws -> PageSupervisor {
    guard let ingest = configuration.ingest,
        configuration.pages != nil || PageSupervisor.hasLeftovers(in: configuration.data)
    else { return PageSupervisor(nil, registry: registry, courier: courier, logger: logger) }
    return PageSupervisor(
        try PageSupervisor.Configuration(
            rules: configuration.pages, ingest: ingest.rules, data: configuration.data,
            starter: starter(of: .page, configuration), isKept: configuration.keepsRelays,
            allowed: configuration.sources),
        registry: registry, courier: courier, logger: logger)
}

/// Returns the supervisor of web pages shown over programs; `nil` if pages are not in the configuration.
func overlays(
    _ configuration: OrchestratorConfiguration, _ registry: RoomRegistry, _ logger: Logger
) throws -> OverlaySupervisor? {
    try configuration.pages.map { rules in
        try OverlaySupervisor(
            rules: rules, data: configuration.data, starter: starter(of: .page, configuration),
            isKept: configuration.keepsRelays, allowed: configuration.sources, registry: registry, logger: logger)
    }
}
