import EventSubscription
import Hummingbird
import MixModel
import NIOCore

/// `GET /live/{room}.flv`, and `/live/{app}/{room}.flv` for rooms of other apps than the standard one: the program as HTTP-FLV, handed through from the relay.
struct LiveController: Sendable {
    let registry: RoomRegistry
    let sockets: RelaySockets

    func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("live/{room}.flv", use: flv)
        router.get("live/{app}/{room}.flv", use: flvOfApp)
        router.on("live/{room}.flv", method: .options, use: preflight)
        router.on("live/{app}/{room}.flv", method: .options, use: preflight)
    }

    @Sendable private func flvOfApp(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let app = AppID(try context.identifier("app"))
        return try await flv(RoomID(app: app, name: try context.identifier("room")))
    }

    @Sendable private func flv(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await flv(RoomID(app: .standard, name: try context.identifier("room")))
    }

    private func flv(_ room: RoomID) async throws -> Response {
        guard let owner = await registry.existingOwner(room), await owner.status != nil else {
            throw Self.notOnAir(room)
        }
        let connection: RelayConnection
        do {
            connection = try await RelayConnection.open(path: sockets.path(of: .automatic(for: room)))
        } catch {
            throw Self.notOnAir(room)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: "video/x-flv", .accessControlAllowOrigin: "*", .cacheControl: "no-store",
            ],
            body: ResponseBody { writer in
                // A viewer who leaves makes `write` throw; a shutdown of the service ends the connection to the relay.
                try await connection.viewFLV { try await writer.write($0) }
                try await writer.finish(nil)
            })
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        Response(
            status: .noContent,
            headers: [.accessControlAllowOrigin: "*", .accessControlAllowMethods: "GET, HEAD, OPTIONS"])
    }

    private static func notOnAir(_ room: RoomID) -> OrchestratorError {
        OrchestratorError(
            .notFound, "not-on-air", "The room has no program now",
            detail: "\(room): a program is there while the room's task runs, see GET /v1/rooms/\(room.name)")
    }
}
