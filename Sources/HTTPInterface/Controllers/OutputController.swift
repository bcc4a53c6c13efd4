import EncodedMedia
import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// `/v1/tasks/{task}/outputs` and `/v1/rooms/{room}/outputs`: adds and removes destinations, also while the program is on air.
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
        router.post("v1/rooms/{room}/outputs", use: postToRoom)
        router.delete("v1/rooms/{room}/outputs/{output}", use: delete)
    }

    private struct Addition {
        var target: SettingsTarget
        var output: PushDestination
        var status: HTTPResponse.Status
        var tag: SettingsTag
    }

    @Sendable private func post(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let added = try await add(request, context)
        let view = await added.target.owner.snapshot.taskView(added.target.id, registry.services)?.view
        let shown = view?.outputs.first { $0.id == added.output.id }
        return Self.answer(shown ?? TaskView.Output(added.output, nil), added)
    }

    /// The room may have no task yet, and its outputs no state.
    @Sendable private func postToRoom(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let added = try await add(request, context)
        return Self.answer(RoomView.Output(added.output), added)
    }

    private static func answer(_ view: some Encodable, _ added: Addition) -> Response {
        var response = jsonResponse(view, status: added.status)
        response.headers[.eTag] = added.tag.text
        return response
    }

    /// Adds an output.
    ///
    /// A repeated request for the same output is answered with 200. It only makes an output that waits for its next
    /// attempt, or has been given up, retry now. Its `retry` may differ, and is then applied.
    private func add(_ request: Request, _ context: OrchestratorContext) async throws -> Addition {
        let receivedAt = MonotonicClock.now()
        let target = try await registry.settings(context)
        let output = try settings.output(try await request.json(), "", target.owner.id)
        let change = SettingsChange(
            task: target.task, precondition: try SettingsPrecondition(request.headers),
            summary: "output \(output.id) added by API"
        ) { [id = target.id, name = target.name] current, outputs throws(OrchestratorError) in
            if let known = outputs.first(where: { $0.id == output.id }) {
                guard known.url == output.url else { throw Self.idTaken(output.id, name) }
                guard known.retry != output.retry else { return current }
                var changed = current
                changed.outputs = outputs.map { $0.id == output.id ? output : $0 }
                return changed
            }
            if let same = outputs.first(where: { RoomSettingsReader.isSame($0, output) }) {
                throw .outputTaken(DestinationClaims.Conflict(output: same.id, holder: id), app: id.app)
            }
            guard outputs.count < RoomSettingsReader.mostOutputs else { throw Self.tooMany(name) }
            var changed = current
            changed.outputs = outputs + [output]
            return changed
        }
        let isKnown = target.outputs.contains(output.id)
        let outcome = try await target.owner.configure(change, at: receivedAt)
        if isKnown { await target.owner.retry(output.id, of: target.id) }
        return Addition(
            target: target, output: output, status: outcome.isUnchanged || isKnown ? .ok : .created, tag: outcome.tag)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let target = try await registry.settings(context)
        let output = OutputID(try context.identifier("output"))
        let isLast = target.outputs == [output]
        let change = SettingsChange(
            task: target.task, precondition: try SettingsPrecondition(request.headers),
            summary: "output \(output) removed by API" + (isLast ? ", the last one" : "")
        ) { [name = target.name] current, outputs throws(OrchestratorError) in
            guard outputs.contains(where: { $0.id == output }) else { throw Self.noOutput(output, name, outputs) }
            var changed = current
            changed.outputs = outputs.filter { $0.id != output }
            return changed
        }
        let outcome = try await target.owner.configure(change, at: receivedAt)
        return Response(status: .noContent, headers: [.eTag: outcome.tag.text])
    }

    private static func idTaken(_ output: OutputID, _ name: String) -> OrchestratorError {
        OrchestratorError(
            .conflict, "output-exists", "The output id is already in use",
            detail: "output \(output) of \(name) has another URL: remove it first, or choose another id",
            field: "id"
        )
    }

    private static func tooMany(_ name: String) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-outputs", "The program has the maximum number of outputs",
            detail: "\(name) has \(RoomSettingsReader.mostOutputs) outputs: remove one first")
    }

    private static func noOutput(
        _ output: OutputID, _ name: String, _ outputs: [PushDestination]
    ) -> OrchestratorError {
        let known = outputs.map(\.id.rawValue).joined(separator: ", ")
        return .notFound(
            "output", output.rawValue, cure: known.isEmpty ? "\(name) has none" : "\(name) has \(known)")
    }
}
