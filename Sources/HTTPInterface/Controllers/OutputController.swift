import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// `/v1/tasks/{task}/outputs`: adds and removes destinations while the program is on air.
package struct OutputController: Sendable {
    let registry: RoomRegistry
    let settings: RoomSettingsReader

    package init(registry: RoomRegistry, settings: RoomSettingsReader) {
        self.registry = registry
        self.settings = settings
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.post("v1/tasks/{task}/outputs", use: post)
        router.delete("v1/tasks/{task}/outputs/{output}", use: delete)
    }

    /// Adds an output.
    ///
    /// A repeated request for the same output is answered with 200. It only makes an output that waits for its next
    /// attempt, or has been given up, try again now. Its `retry` may differ, and is then applied.
    @Sendable private func post(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let id = try context.taskID()
        let (owner, view, _) = try await registry.task(id)
        let output = try settings.output(try await request.json(), "", owner.id)
        let change = SettingsChange(
            task: view.kind == .explicit ? id : nil, precondition: try SettingsPrecondition(request.headers),
            summary: "output \(output.id) added by API"
        ) { current, outputs throws(OrchestratorError) in
            if let known = outputs.first(where: { $0.id == output.id }) {
                guard known.url == output.url else { throw Self.idTaken(output.id, id) }
                guard known.retry != output.retry else { return current }
                var changed = current
                changed.outputs = outputs.map { $0.id == output.id ? output : $0 }
                return changed
            }
            if let same = outputs.first(where: { RoomSettingsReader.isSame($0, output) }) {
                throw .outputTaken(DestinationClaims.Conflict(output: same.id, holder: id), app: id.app)
            }
            guard outputs.count < RoomSettingsReader.mostOutputs else { throw Self.tooMany(id) }
            var changed = current
            changed.outputs = outputs + [output]
            return changed
        }
        let isKnown = view.outputs.contains { $0.id == output.id }
        let outcome = try await owner.configure(change, at: receivedAt)
        if isKnown { await owner.retry(output.id, of: id) }
        let shown = await owner.snapshot.taskView(id, registry.services)?.view.outputs.first { $0.id == output.id }
        var response = jsonResponse(
            shown ?? TaskView.Output(output, nil), status: outcome.isUnchanged || isKnown ? .ok : .created)
        response.headers[.eTag] = outcome.tag.text
        return response
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let id = try context.taskID()
        let name = OutputID(try context.identifier("output"))
        let (owner, view, _) = try await registry.task(id)
        let isLast = view.settings.outputs.map(\.id) == [name]
        let change = SettingsChange(
            task: view.kind == .explicit ? id : nil, precondition: try SettingsPrecondition(request.headers),
            summary: "output \(name) removed by API" + (isLast ? ", the last one" : "")
        ) { current, outputs throws(OrchestratorError) in
            guard outputs.contains(where: { $0.id == name }) else { throw Self.noOutput(name, id, outputs) }
            var changed = current
            changed.outputs = outputs.filter { $0.id != name }
            return changed
        }
        let outcome = try await owner.configure(change, at: receivedAt)
        return Response(status: .noContent, headers: [.eTag: outcome.tag.text])
    }

    private static func idTaken(_ output: OutputID, _ task: TaskID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "output-exists", "The output id is already in use",
            detail: "output \(output) of \(task.name) has another URL: remove it first, or choose another id",
            field: "id"
        )
    }

    private static func tooMany(_ task: TaskID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-outputs", "The task has the maximum number of outputs",
            detail: "\(task.name) has \(RoomSettingsReader.mostOutputs) outputs: remove one first")
    }

    private static func noOutput(
        _ output: OutputID, _ task: TaskID, _ outputs: [PushDestination]
    ) -> OrchestratorError {
        let known = outputs.map(\.id.rawValue).joined(separator: ", ")
        return .notFound(
            "output", output.rawValue, cure: known.isEmpty ? "\(task.name) has none" : "\(task.name) has \(known)")
    }
}
