import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// `/v1/rooms/{room}/hls`: starts and ends HLS while the program is on air.
package struct HLSSettingsController: Sendable {
    let registry: RoomRegistry

    package init(registry: RoomRegistry) {
        self.registry = registry
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.put("v1/rooms/{room}/hls", use: put)
        router.delete("v1/rooms/{room}/hls", use: delete)
    }

    /// Starts HLS or changes its settings. An empty body is treated as an empty object: every setting has its default.
    @Sendable private func put(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let bytes = try await request.bytes()
        let document = bytes.isEmpty ? .boolean(true) : try JSONValue(parsing: bytes)
        let settings = try HLSSettingsReader.settings(document, path: "") ?? HLSSettings()
        return try await configure(settings, request, context, summary: "HLS enabled by API")
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let response = try await configure(nil, request, context, summary: "HLS disabled by API")
        return Response(status: .noContent, headers: [.eTag: response.headers[.eTag] ?? ""])
    }

    private func configure(
        _ settings: HLSSettings?, _ request: Request, _ context: OrchestratorContext, summary: String
    ) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.roomID()
        guard let owner = try await registry.reader(room), await owner.snapshot.isStored else {
            throw OrchestratorError.noRoom(room)
        }
        let change = SettingsChange(precondition: try SettingsPrecondition(request.headers), summary: summary) {
            current, _ in
            var changed = current
            changed.hls = settings
            return changed
        }
        let outcome = try await owner.configure(change, at: receivedAt)
        let shown =
            await owner.snapshot.roomView(registry.services)?.view.hls ?? HLSView(nil, settings: settings, room: room)
        var response = jsonResponse(shown)
        response.headers[.eTag] = outcome.tag.text
        return response
    }
}
