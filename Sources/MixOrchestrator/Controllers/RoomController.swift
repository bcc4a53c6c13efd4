import EventSubscription
import Hummingbird
import MixModel

/// `/v1/rooms`.
struct RoomController: Sendable {
    let registry: RoomRegistry
    let services: RoomServices
    let settings: RoomSettingsReader

    func addRoutes(to router: some RouterMethods<some RequestContext>) {
        router.get("v1/rooms", use: list)
        router.get("v1/rooms/{room}", use: get)
        router.put("v1/rooms/{room}", use: put)
        router.delete("v1/rooms/{room}", use: delete)
    }

    private struct List: Encodable {
        var rooms: [RoomView]
    }

    @Sendable private func list(_ request: Request, _ context: some RequestContext) async throws -> Response {
        var rooms: [RoomView] = []
        for owner in try await registry.readers(after: nil, limit: 1000) {
            if let view = await owner.roomView(services) { rooms.append(view) }
        }
        return jsonResponse(List(rooms: rooms))
    }

    @Sendable private func get(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let room = RoomID(try context.identifier("room"))
        guard let view = try await registry.reader(room)?.roomView(services) else { throw Self.noRoom(room) }
        return jsonResponse(view)
    }

    @Sendable private func put(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = RoomID(try context.identifier("room"))
        let settings = try settings.settings(try await request.json(), room: room)
        let existed = try await registry.existingOwner(room)?.roomView(services) != nil
        let owner = try await registry.owner(room)
        try await owner.configure(settings, at: receivedAt)
        guard let view = await owner.roomView(services) else { throw Self.noRoom(room) }
        return jsonResponse(view, status: existed ? .ok : .created)
    }

    @Sendable private func delete(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = RoomID(try context.identifier("room"))
        guard let owner = try await registry.existingOwner(room), await owner.roomView(services) != nil else {
            throw Self.noRoom(room)
        }
        try await owner.delete(at: receivedAt)
        return Response(status: .noContent)
    }

    private static func noRoom(_ room: RoomID) -> OrchestratorError {
        .notFound("room", room.rawValue, cure: "make it with PUT /v1/rooms/\(room), or send an event of it")
    }
}
