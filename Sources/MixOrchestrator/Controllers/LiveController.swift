import EventSubscription
import HTTPTypes
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
        router.head("live/{room}.flv", use: head)
        router.get("live/{app}/{room}.flv", use: flvOfApp)
        router.head("live/{app}/{room}.flv", use: headOfApp)
        router.on("live/{room}.flv", method: .options, use: preflight)
        router.on("live/{app}/{room}.flv", method: .options, use: preflightOfApp)
    }

    @Sendable private func flv(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await flv(try Self.room(.standard, context), request)
    }

    @Sendable private func flvOfApp(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await flv(try Self.room(AppID(try context.identifier("app")), context), request)
    }

    private static func room(_ app: AppID, _ context: OrchestratorContext) throws -> RoomID {
        RoomID(app: app, name: try context.identifier("room"))
    }

    private func flv(_ room: RoomID, _ request: Request) async throws -> Response {
        for task in try await programs(of: room, request) {
            // One that is just ending may be on the list, and gone.
            guard let connection = try? await RelayConnection.open(path: sockets.path(of: task)) else { continue }
            return Response(
                status: .ok, headers: Self.headers,
                body: ResponseBody { writer in
                    // A viewer who leaves makes `write` throw; a shutdown of the service ends the connection.
                    try await connection.viewFLV { try await writer.write($0) }
                    try await writer.finish(nil)
                })
        }
        throw Self.notOnAir(room)
    }

    /// Whether there is a program, without taking part in it.
    @Sendable private func head(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        _ = try await programs(of: try Self.room(.standard, context), request)
        return Response(status: .ok, headers: Self.headers)
    }

    @Sendable private func headOfApp(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        _ = try await programs(of: try Self.room(AppID(try context.identifier("app")), context), request)
        return Response(status: .ok, headers: Self.headers)
    }

    /// The task that is asked for, or those of the room that are on air: its own first.
    ///
    /// - Throws: When there is none.
    private func programs(of room: RoomID, _ request: Request) async throws -> [TaskID] {
        let asked = try request.queryText("task").map { name in
            TaskID(app: room.app, name: try EventParser.identifier(name, field: "task"))
        }
        let onAir = try await registry.reader(room)?.tasksOnAir ?? []
        guard !onAir.isEmpty else { throw Self.notOnAir(room) }
        guard let asked else { return onAir }
        guard onAir.contains(asked) else { throw Self.notOnAir(room, asked) }
        return [asked]
    }

    private static var headers: HTTPFields {
        [.contentType: "video/x-flv", .accessControlAllowOrigin: "*", .cacheControl: "no-store"]
    }

    @Sendable private func preflight(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        _ = try context.identifier("room")
        return Response(
            status: .noContent,
            headers: [.accessControlAllowOrigin: "*", .accessControlAllowMethods: "GET, HEAD, OPTIONS"])
    }

    @Sendable private func preflightOfApp(
        _ request: Request, _ context: OrchestratorContext
    ) async throws -> Response {
        _ = try context.identifier("app")
        return try await preflight(request, context)
    }

    private static func notOnAir(_ room: RoomID, _ task: TaskID? = nil) -> OrchestratorError {
        OrchestratorError(
            .notFound, "not-on-air", "The room has no program now",
            detail: "\(task?.name ?? room.name): a program is there while a task of the room runs, see "
                + "GET /v1/rooms/\(room.name)", field: task == nil ? nil : "task")
    }
}
