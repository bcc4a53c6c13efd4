import EventSubscription
import Hummingbird
import MixModel

/// `/v1/rooms`.
struct RoomController: Sendable {
    let registry: RoomRegistry
    let services: RoomServices
    let settings: RoomSettingsReader

    func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/rooms", use: list)
        router.get("v1/rooms/{room}", use: get)
        router.put("v1/rooms/{room}", use: put)
        router.delete("v1/rooms/{room}", use: delete)
    }

    private struct List: Encodable {
        var rooms: [RoomView]
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        var rooms: [RoomView] = []
        for owner in await registry.allOwners() where owner.id.app == context.caller.app {
            if let view = await owner.roomView(services) { rooms.append(view) }
        }
        return jsonResponse(List(rooms: rooms))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let room = try context.roomID()
        guard let view = await registry.existingOwner(room)?.roomView(services) else { throw Self.noRoom(room) }
        return jsonResponse(view)
    }

    @Sendable private func put(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.roomID()
        let settings = try settings.settings(try await request.json(), room: room)
        let existed = await registry.existingOwner(room)?.roomView(services) != nil
        let owner = await registry.owner(room)
        try await owner.configure(settings, at: receivedAt)
        guard let view = await owner.roomView(services) else { throw Self.noRoom(room) }
        return jsonResponse(view, status: existed ? .ok : .created)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.roomID()
        guard let owner = await registry.existingOwner(room), await owner.roomView(services) != nil else {
            throw Self.noRoom(room)
        }
        try await owner.delete(at: receivedAt)
        return Response(status: .noContent)
    }

    private static func noRoom(_ room: RoomID) -> OrchestratorError {
        .notFound("room", room.name, cure: "make it with PUT /v1/rooms/\(room.name), or send an event of it")
    }
}
