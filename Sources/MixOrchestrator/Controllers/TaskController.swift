import EventSubscription
import Foundation
import Hummingbird
import MixModel
import TaskStore

/// `/v1/tasks`.
struct TaskController: Sendable {
    let registry: RoomRegistry
    let services: RoomServices

    func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/tasks", use: list)
        router.get("v1/tasks/{task}", use: get)
        router.delete("v1/tasks/{task}", use: delete)
        router.get("v1/tasks/{task}/timeline", use: timeline)
    }

    private struct List: Encodable {
        var tasks: [TaskView]
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        var tasks: [TaskView] = []
        for owner in await registry.allOwners() where owner.id.app == context.caller.app {
            if let view = await owner.taskView() { tasks.append(view) }
        }
        return jsonResponse(List(tasks: tasks))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        jsonResponse(try await owner(context).view)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let (owner, view) = try await owner(context)
        guard try await owner.stopTask(at: receivedAt) else { return jsonResponse(view) }
        return jsonResponse(await owner.taskView() ?? view)
    }

    private struct Timeline: Encodable {
        struct Entry: Encodable {
            var at: Date
            var kind: TimelineEntry.Kind
            var message: String
            var cause: String?
        }
        var task: String
        var entries: [Entry]
    }

    @Sendable private func timeline(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (_, view) = try await owner(context)
        let limit = request.uri.queryParameters["limit"].flatMap { Int($0) } ?? 200
        let entries = try await services.store.timeline(
            of: view.id, limit: min(max(limit, 1), Retention.timelineEntries))
        return jsonResponse(
            Timeline(
                task: view.id.name,
                entries: entries.map { stamped in
                    Timeline.Entry(
                        at: Date(timeIntervalSince1970: stamped.at), kind: stamped.entry.kind,
                        message: stamped.entry.message, cause: stamped.entry.cause)
                }))
    }

    private func owner(_ context: OrchestratorContext) async throws -> (owner: RoomOwner, view: TaskView) {
        let id = try context.taskID()
        let prefix = TaskID.automatic(for: "").name
        guard id.name.hasPrefix(prefix),
            let owner = await registry.existingOwner(
                RoomID(app: id.app, name: String(id.name.dropFirst(prefix.count)))),
            let view = await owner.taskView()
        else {
            throw OrchestratorError.notFound(
                "task", id.name,
                cure: "a room's task is \(prefix){room}; it appears when the room has outputs and a stream")
        }
        return (owner, view)
    }
}
