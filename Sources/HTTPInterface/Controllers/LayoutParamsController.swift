import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import LayoutEngine
import MixModel
import RoomService
import TextFormats

/// `/v1/tasks/{task}/params` and `/v1/rooms/{room}/params`: the values of the layout's parameters, also while the program is on
/// air.
package struct LayoutParamsController: Sendable {
    let registry: RoomRegistry
    let reader: LayoutParamsReader

    package init(registry: RoomRegistry, reader: LayoutParamsReader) {
        self.registry = registry
        self.reader = reader
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/tasks/{task}/params", use: get)
        router.patch("v1/tasks/{task}/params", use: patch)
        router.get("v1/rooms/{room}/params", use: get)
        router.patch("v1/rooms/{room}/params", use: patch)
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        answer(try await registry.settings(context))
    }

    @Sendable private func patch(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let (target, precondition) = try await registry.settings(toPatch: request, context)
        let body = try await request.bytes(upTo: LayoutParamsReader.mostBytes)
        // Must be an object, so that no patch removes all values at once by mistake.
        _ = try FieldReader(try JSONValue(parsing: body))
        guard let patch = await reader.patch(in: body, key: nil, layout: target.layout) else { return answer(target) }
        let change = SettingsChange(
            task: target.task, precondition: precondition,
            summary: "layout parameters changed by API: \(patch.summary)"
        ) { current, _ throws(OrchestratorError) in try patch.applied(to: current) }
        _ = try await target.owner.configure(change, at: receivedAt)
        return answer(try await registry.settings(context))
    }

    private func answer(_ target: SettingsTarget) -> Response {
        let template = registry.services.layouts.writtenTemplate(target.layout)
        var response = jsonResponse(
            LayoutParamsView(template, name: target.layout, values: target.settings.params ?? [:]))
        response.headers[.eTag] = target.tag.text
        return response
    }
}
