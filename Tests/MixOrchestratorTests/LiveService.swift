import HTTPInterface
import ServiceLifecycle
import TaskStore
import Testing

@testable import MixOrchestrator

/// A service that runs as `serve` does, on a port of 127.0.0.1.
struct LiveService: Sendable {
    let port: Int
    let log: LogRecorder
    let directory: String
    let relays: ScriptedRelays
}

/// Runs a service for the length of `body`, with TLS and the limit of connections, which the test framework's server
/// lacks.
func withLiveService(
    directory: String, settings: [String: [String]] = [:], door: any WebRTCDoor = ClosedWebRTCDoor(),
    playDoor: any WebRTCPlayDoor = ClosedWebRTCPlayDoor(), socketIO: (any SocketIOHandler)? = nil,
    _ body: @escaping @Sendable (LiveService) async throws -> Void
) async throws {
    let log = LogRecorder()
    let relays = ScriptedRelays()
    let application = try await buildOrchestrator(
        testConfiguration(directory, settings),
        store: MemoryTaskStore(), starter: relays, logger: log.logger, door: door, playDoor: playDoor,
        socketIO: socketIO)
    let group = ServiceGroup(services: [application], logger: LogRecorder().logger)
    async let running: Void = group.run()
    do {
        let port = try await eventually {
            log.text.firstMatch(of: /Server started and listening on 127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
        }
        try await body(LiveService(port: port, log: log, directory: directory, relays: relays))
    } catch {
        await group.triggerGracefulShutdown()
        try await running
        throw error
    }
    await group.triggerGracefulShutdown()
    try await running
}
