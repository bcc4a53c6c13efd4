import EventSubscription
import HTTPTypes
import Hummingbird
import MixModel
import RoomService

/// Pictures of a task's program and its participants, and their audio levels, for operators.
package struct PreviewController: Sendable {
    let registry: RoomRegistry
    /// `nil` if the service makes no previews.
    let previews: Previews?

    package init(registry: RoomRegistry, previews: Previews?) {
        self.registry = registry
        self.previews = previews
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/tasks/{task}/thumbnail.jpg", use: program)
        router.get("v1/tasks/{task}/participants/{user}.jpg", use: participant)
        router.get("v1/tasks/{task}/levels", use: levels)
    }

    private struct LevelsView: Encodable {
        struct Source: Encodable {
            var id: SourceID
            /// Peak level in dB below full scale; absent without audio.
            var peak: Double?
            var rms: Double?
        }
        struct Program: Encodable {
            var peak: Double?
            var rms: Double?
        }
        var task: String
        var program: Program
        var sources: [Source]
    }

    @Sendable private func program(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (previews, task, _) = try await found(context)
        return answer(try await previews.program(of: task), previews, request)
    }

    @Sendable private func participant(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let user = UserID(try context.identifier("user"))
        let (previews, task, state) = try await found(context)
        let picture = try await previews.participant(user, of: task, in: state.room.document)
        return answer(picture, previews, request)
    }

    @Sendable private func levels(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (previews, task, _) = try await found(context)
        let levels = try await previews.levels(of: task)
        let program = levels.first { $0.source == nil }?.level
        var response = jsonResponse(
            LevelsView(
                task: task.id.name, program: .init(peak: program?.peak, rms: program?.rms),
                sources: levels.compactMap { level in
                    level.source.map { .init(id: $0, peak: level.level?.peak, rms: level.level?.rms) }
                }))
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private func found(
        _ context: OrchestratorContext
    ) async throws -> (previews: Previews, task: OwnedTask, state: RoomState) {
        let id = try context.taskID()
        let owner = try await registry.task(id).owner
        guard let previews else {
            throw OrchestratorError(
                .notFound, "previews-off", "This service makes no previews",
                detail: "thumbnails.interval is 0 in its configuration")
        }
        let state = await owner.snapshot
        guard let task = state.task(id) else { throw OrchestratorError.notFound("task", id.name, cure: "it has ended") }
        return (previews, task, state)
    }

    private func answer(_ picture: Previews.Picture, _ previews: Previews, _ request: Request) -> Response {
        let tag = WebAsset.tag(of: picture.jpeg)
        let headers: HTTPFields = [
            .eTag: tag, .cacheControl: "private, max-age=\(previews.settings.interval)",
            .xContentTypeOptions: "nosniff",
        ]
        if EntityTags.isKnown(tag, ifNoneMatch: request.headers[.ifNoneMatch]) {
            return Response(status: .notModified, headers: headers)
        }
        var response = Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: picture.jpeg)))
        response.headers[.contentType] = "image/jpeg"
        return response
    }
}
