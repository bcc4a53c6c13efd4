import Crypto
import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import RoomService
import TextFormats

/// `/v1/tasks`: reads, creates, changes and ends tasks.
package struct TaskController: Sendable {
    let registry: RoomRegistry
    let history: TaskHistory
    let settings: RoomSettingsReader
    let params: LayoutParamsReader

    package init(
        registry: RoomRegistry, history: TaskHistory, settings: RoomSettingsReader, params: LayoutParamsReader
    ) {
        self.params = params
        self.registry = registry
        self.history = history
        self.settings = settings
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/tasks", use: list)
        router.post("v1/tasks", use: post)
        router.get("v1/tasks/{task}", use: get)
        router.patch("v1/tasks/{task}", use: patch)
        router.delete("v1/tasks/{task}", use: delete)
    }

    private struct List: Encodable {
        var tasks: [TaskView]
        var next: String?
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let state = try request.queryChoice("state", of: TaskView.State.self)
        let room = try request.queryText("room").map { name in
            RoomID(app: context.app, name: try EventParser.knownIdentifier(name, field: "room"))
        }
        let page = try await registry.tasks(of: context.app, room: room, page: try request.page()) { task in
            state == nil || task.state == state
        }
        return jsonResponse(List(tasks: page.views, next: page.next))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(try context.taskID())
    }

    private static func refuseRecording(_ settings: RoomSettings) throws(InputError) {
        guard settings.recording != nil else { return }
        throw InputError(
            .invalidField, field: "recording", found: "a recording of an explicit task",
            expected: "a recording of the room: PUT /v1/rooms/{room}/recording")
    }

    @Sendable private func post(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let key = try request.idempotencyKey()
        let body = try await request.bytes()
        var reader = try FieldReader(try JSONValue(parsing: body))
        let room = RoomID(
            app: context.app,
            name: try EventParser.identifier(
                reader.requiredString("room", expected: "the room's id"), field: "room"))
        let id = TaskID(app: context.app, name: try Self.name(&reader, key: key))
        var settings = try settings.allowing(context.caller).settings(patching: RoomSettings(), &reader, room: room)
        try reader.finish()
        if let params = await params.patch(in: body, key: "params", layout: settings.layout) {
            settings = try params.applied(to: settings)
        }
        try Self.refuseHLS(settings)
        try Self.refuseRecording(settings)
        guard settings.outputs?.isEmpty == false else {
            throw InputError(
                settings.outputs == nil ? .missingField : .invalidField, field: "outputs",
                expected: "at least one output, as [{\"id\":\"main\",\"url\":\"rtmp://host/app/key\"}]")
        }
        let isKeyed = key != nil && id.name == key.map(Self.name(forKey:))
        let creation = try await registry.owner(room).make(
            NewTask(id: id, settings: settings, isKeyed: isKeyed), at: receivedAt)
        var response = try await answer(id, status: creation == .made ? .created : .ok)
        response.headers[.location] = "/v1/tasks/\(id.name)"
        return response
    }

    private static func refuseHLS(_ settings: RoomSettings) throws(InputError) {
        guard settings.hls != nil else { return }
        throw InputError(
            .invalidField, field: "hls", found: "HLS of an explicit task",
            expected: "HLS of the room, because HLS uses the room's address: PUT /v1/rooms/{room}/hls")
    }

    /// Returns the requested id. Without one, it is derived from the `Idempotency-Key`, or random.
    private static func name(_ reader: inout FieldReader, key: String?) throws(InputError) -> String {
        guard let text = try reader.string("id") else {
            return key.map(name(forKey:)) ?? "task-" + UUID().uuidString.lowercased()
        }
        let name = try EventParser.identifier(text, field: "id")
        guard !name.startsInUTF8(with: TaskID.automaticPrefix) else {
            throw InputError(
                .invalidField, field: "id", found: JSONValue.string(name).summary,
                expected: "an id that does not begin with \(TaskID.automaticPrefix), the prefix of rooms' own tasks")
        }
        return name
    }

    private static func name(forKey key: String) -> String {
        "task-" + Hexadecimal.text(SHA256.hash(data: Data(key.utf8)).prefix(16))
    }

    @Sendable private func patch(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let (target, precondition) = try await registry.settings(toPatch: request, context)
        let patch = try await SettingsPatch(
            try await request.bytes(), layout: target.layout, settings.allowing(context.caller), params)
        let change = SettingsChange(
            task: target.task, precondition: precondition, summary: "task settings changed by API"
        ) { current, _ throws(OrchestratorError) in
            try patch.applied(to: current, in: target.owner.id) { changed throws(InputError) in
                if target.isExplicit {
                    try Self.refuseHLS(changed)
                    // Earlier releases took one, which had no effect.
                    if changed.recording != current.recording { try Self.refuseRecording(changed) }
                } else {
                    try RoomSettingsReader.refuseSchedule(changed)
                }
            }
        }
        _ = try await target.owner.configure(change, at: receivedAt)
        await target.owner.retryFailedOutputs(of: target.id)
        return try await answer(target.id)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let id = try context.taskID()
        let (owner, view, _) = try await registry.task(id)
        _ = try await owner.stopTask(id, at: receivedAt)
        if try await registry.snapshot(of: id)?.task(id) == nil {
            // Tasks of the ApsaraVideo Live interface are not kept once their client has ended them.
            var ended = view
            (ended.state, ended.endReason) = (.stopped, .requested)
            return jsonResponse(ended)
        }
        return try await answer(id)
    }

    private func answer(_ id: TaskID, status: HTTPResponse.Status = .ok) async throws -> Response {
        // Read first, so that the view does not show the state before a switch that it contains.
        let switches = try await history.switches(of: id, limit: TaskHistory.switchesOfTask)
        let shown = try await registry.task(id)
        var view = shown.view
        view.switches = switches
        var response = jsonResponse(view, status: status)
        response.headers[.eTag] = shown.tag.text
        return response
    }
}

extension RoomRegistry {
    /// Finds a task.
    ///
    /// - Throws: `OrchestratorError` if the task does not exist.
    func task(_ id: TaskID) async throws(OrchestratorError) -> (owner: RoomOwner, view: TaskView, tag: SettingsTag) {
        guard let owner = try await reader(of: id), let (view, tag) = await owner.snapshot.taskView(id, services) else {
            throw OrchestratorError.notFound(
                "task", id.name,
                cure:
                    "create it with POST /v1/tasks; a room's own task is \(TaskID.automaticPrefix){room}, which exists once "
                    + "the room has had outputs and a stream")
        }
        return (owner, view, tag)
    }
}

extension Request {
    /// Checks that the content type is one that is accepted for merge patches.
    func checkPatchType() throws {
        let type = headers[.contentType]?.split(separator: ";").first?.lowercased()
            .trimmed
        let accepted = ["application/merge-patch+json", "application/json"]
        guard let type, accepted.contains(type) else {
            var answer: HTTPFields = [:]
            if let name = HTTPField.Name("Accept-Patch") { answer[name] = accepted.joined(separator: ", ") }
            throw HTTPProblem(
                .unsupportedMediaType, "unsupported-media-type", "The content type is not accepted",
                detail: "found \(type ?? "none")", field: "Content-Type",
                expected: accepted.joined(separator: ", "), headers: answer)
        }
    }
}
