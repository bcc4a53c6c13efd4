import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import LayoutEngine
import MixModel
import RoomService
import TextFormats

/// `/v1/tasks/{task}/params`: the values of the layout's parameters, also while the program is on air.
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
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(try context.taskID())
    }

    @Sendable private func patch(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let id = try context.taskID()
        try request.checkPatchType()
        let (owner, view, tag) = try await registry.task(id)
        let precondition = try SettingsPrecondition(request.headers)
        try precondition.required(tag)
        let body = try await request.bytes(upTo: LayoutParamsReader.mostBytes)
        // An object, so that no patch takes away all values at once by mistake.
        _ = try FieldReader(try JSONValue(parsing: body))
        guard let patch = await reader.patch(in: body, key: nil, layout: view.settings.layout) else {
            return try await answer(id)
        }
        let change = SettingsChange(
            task: view.kind == .explicit ? id : nil, precondition: precondition,
            summary: "layout parameters changed by API: \(patch.summary)"
        ) { current, _ throws(OrchestratorError) in try patch.applied(to: current) }
        _ = try await owner.configure(change, at: receivedAt)
        return try await answer(id)
    }

    private func answer(_ id: TaskID) async throws -> Response {
        let shown = try await registry.task(id)
        let state = await shown.owner.snapshot
        let settings = state.task(id)?.machine.document.settings ?? state.room.document.settings
        let name = shown.view.settings.layout
        let template = registry.services.layouts.writtenTemplate(name)
        var response = jsonResponse(LayoutParamsView(template, name: name, values: settings.params ?? [:]))
        response.headers[.eTag] = shown.tag.text
        return response
    }
}
