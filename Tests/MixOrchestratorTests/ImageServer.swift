import Foundation
import Hummingbird
import Logging
import ServiceLifecycle

@testable import MixOrchestrator

/// Small images, and one that claims to be huge.
enum SampleImages {
    static let red = bytes(
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==")
    static let blue = bytes(
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAD0lEQVR4nGNgYPgPRmAKABf2A/1+6zfzAAAAAElFTkSuQmCC")
    /// 16 000 × 16 000 pixels in 70 bytes.
    static let bomb = bytes(
        "iVBORw0KGgoAAAANSUhEUgAAPoAAAD6ACAIAAADOHEiJAAAACUlEQVR4nGMAAAABAAFe/335AAAAAElFTkSuQmCC")

    private static func bytes(_ text: String) -> [UInt8] { Data(base64Encoded: text).map(Array.init) ?? [] }
}

/// A real HTTP server on a free port of loopback.
func withImageServer(
    _ addRoutes: (Router<BasicRequestContext>) -> Void,
    _ body: @escaping @Sendable (_ base: String) async throws -> Void
) async throws {
    let router = Router()
    addRoutes(router)
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
        router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) },
        logger: Logger(label: "images") { _ in SwiftLogNoOpLogHandler() })
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(services: [application], logger: application.logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        for await number in ports {
            try await body("http://127.0.0.1:\(number)")
            break
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
    }
}

func imageResponse(_ bytes: [UInt8], type: String = "image/png", eTag: String? = nil) -> Response {
    var headers: HTTPFields = [.contentType: type]
    headers[.eTag] = eTag
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
}
