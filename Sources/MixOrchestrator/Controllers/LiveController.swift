import EventSubscription
import Hummingbird
import MixModel
import NIOCore

/// `GET /live/{room}.flv`: the program as HTTP-FLV, handed through from the relay. Of a room with several tasks it is the
/// automatic one's, otherwise the first's that is on air; `?task=` names another. Rooms of other apps than the standard one
/// are at `/live/{app}/{room}.flv`.
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
        return try await flv(RoomID(app: app, name: try context.identifier("room")), request)
    }

    @Sendable private func flv(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await flv(RoomID(app: .standard, name: try context.identifier("room")), request)
    }

    private func flv(_ room: RoomID, _ request: Request) async throws -> Response {
        let asked = try request.queryText("task").map { name in
            TaskID(app: room.app, name: try EventParser.identifier(name, field: "task"))
        }
        guard let owner = try await registry.reader(room), let onAir = await owner.taskOnAir else {
            throw Self.notOnAir(room)
        }
        let task = asked ?? onAir
        guard await owner.status(of: task) != nil else { throw Self.notOnAir(room, task) }
        let connection: RelayConnection
        do {
            connection = try await RelayConnection.open(path: sockets.path(of: task))
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

    private static func notOnAir(_ room: RoomID, _ task: TaskID? = nil) -> OrchestratorError {
        OrchestratorError(
            .notFound, "not-on-air", "The room has no program now",
            detail: "\(task?.name ?? room.name): a program is there while a task of the room runs, see "
                + "GET /v1/rooms/\(room.name)", field: task == nil ? nil : "task")
    }
}
