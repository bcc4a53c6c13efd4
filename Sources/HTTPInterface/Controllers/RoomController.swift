import EncodedMedia
import EventSubscription
import Hummingbird
import MixModel
import RoomService
import TextFormats

/// `/v1/rooms`: reads and changes rooms.
package struct RoomController: Sendable {
    let registry: RoomRegistry
    let history: TaskHistory
    let settings: RoomSettingsReader
    let params: LayoutParamsReader
    let pages: PageSupervisor
    let overlays: OverlaySupervisor?

    /// - Parameter overlays: `nil` if web pages are not overlaid on programs.
    package init(
        registry: RoomRegistry, history: TaskHistory, settings: RoomSettingsReader, params: LayoutParamsReader,
        pages: PageSupervisor, overlays: OverlaySupervisor?
    ) {
        self.overlays = overlays
        self.params = params
        self.registry = registry
        self.history = history
        self.settings = settings
        self.pages = pages
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/rooms", use: list)
        router.get("v1/rooms/{room}", use: get)
        router.put("v1/rooms/{room}", use: put)
        router.patch("v1/rooms/{room}", use: patch)
        router.delete("v1/rooms/{room}", use: delete)
    }

    private struct List: Encodable {
        var rooms: [RoomView]
        var next: String?
    }

    private enum State: String, CaseIterable {
        case open, closed
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let state = try request.queryChoice("state", of: State.self)
        let page = try await registry.rooms(of: context.app, page: try request.page()) { room in
            state == nil || (state == .open) == room.open
        }
        return jsonResponse(List(rooms: page.views, next: page.next))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(try context.roomID())
    }

    @Sendable private func put(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.newRoomID()
        let precondition = try SettingsPrecondition(request.headers)
        let body = try await request.bytes()
        let read = try settings.allowing(context.caller).settings(try JSONValue(parsing: body), room: room)
        let settings =
            try await params.patch(in: body, key: "params", layout: read.layout)?.applied(to: read) ?? read
        let change = SettingsChange(precondition: precondition, summary: "room settings changed") { current, _ in
            var settings = settings
            settings.recording = settings.recording?.following(current.recording)
            return settings
        }
        let owner = try await registry.owner(room)
        let outcome = try await owner.configure(change, at: receivedAt)
        // A client that sends the settings again wants failed outputs to be retried.
        await owner.retryFailedOutputs(of: .automatic(for: room))
        return try await answer(room, status: outcome.isNew ? .created : .ok)
    }

    /// Changes the given fields, even in a room that has never been on air and therefore has no task.
    @Sendable private func patch(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let (target, precondition) = try await registry.settings(toPatch: request, context)
        let patch = try await SettingsPatch(
            try await request.bytes(), layout: target.layout, settings.allowing(context.caller), params)
        let room = target.owner.id
        let change = SettingsChange(
            precondition: precondition, summary: "room settings changed"
        ) { current, _ throws(OrchestratorError) in
            try patch.applied(to: current, in: room, check: RoomSettingsReader.refuseSchedule)
        }
        _ = try await target.owner.configure(change, at: receivedAt)
        await target.owner.retryFailedOutputs(of: target.id)
        return try await answer(room)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.roomID()
        guard let owner = try await registry.reader(room), await owner.snapshot.isStored else {
            throw OrchestratorError.noRoom(room)
        }
        try await owner.delete(at: receivedAt)
        return Response(status: .noContent)
    }

    private func answer(_ room: RoomID, status: HTTPResponse.Status = .ok) async throws -> Response {
        let switches = try await history.switches(of: .automatic(for: room), limit: 20)
        guard let shown = try await registry.snapshot(room)?.roomView(registry.services) else {
            throw OrchestratorError.noRoom(room)
        }
        var view = shown.view
        view.task?.switches = switches
        let pages = pages.views(of: room)
        view.pages = pages.isEmpty ? nil : pages
        let overlays = overlays?.views(of: view.tasks.map { TaskID($0) }) ?? []
        view.overlayPages = overlays.isEmpty ? nil : overlays
        var response = jsonResponse(view, status: status)
        response.headers[.eTag] = shown.tag.text
        return response
    }
}
