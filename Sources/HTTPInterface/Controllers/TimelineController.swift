import EventSubscription
import Foundation
import Hummingbird
import MixModel
import RoomService
import TaskStore

/// `/v1/tasks/{task}/timeline` and `/v1/tasks/{task}/switches`: the history that explains a stream's state.
package struct TimelineController: Sendable {
    let registry: RoomRegistry
    let history: TaskHistory

    package init(registry: RoomRegistry, history: TaskHistory) {
        self.registry = registry
        self.history = history
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/tasks/{task}/timeline", use: timeline)
        router.get("v1/tasks/{task}/switches", use: switches)
    }

    private struct Timeline: Encodable {
        struct Entry: Encodable {
            var number: Int64
            var at: Date
            var kind: TimelineEntry.Kind
            var message: String
            var cause: String?
            /// The causes of the entry. Entries with a common cause belong together.
            var causes: [CauseID]
            var event: EventReference?

            init(_ stamped: StampedEntry) {
                number = stamped.order
                at = Date(timeIntervalSince1970: stamped.at)
                kind = stamped.entry.kind
                message = stamped.entry.message
                cause = stamped.entry.cause
                causes = stamped.entry.causes ?? []
                event = stamped.entry.event.map {
                    EventReference(source: Self.redacted($0.source), id: Redaction.text($0.id))
                }
            }

            /// Returns the source without secrets. A source is a URI reference, whose query may contain secrets, as may
            /// a URL.
            private static func redacted(_ source: String) -> String {
                guard let parts = source.splitAtFirst("?") else { return Redaction.text(source) }
                return Redaction.text(String(parts.head)) + "?***"
            }
        }
        var task: String
        var entries: [Entry]
        /// The value of `before` that returns older entries. Absent at the end.
        var next: Int64?
    }

    @Sendable private func timeline(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let id = try context.taskID()
        _ = try await registry.task(id)
        let limit = try request.queryInteger("limit", in: 1...Retention.timelineEntries) ?? 200
        let before = try request.queryInteger("before", in: 0...Int(1) << 53).map(Int64.init)
        let found = try await history.timeline(
            of: id, before: before, cause: request.queryText("cause").map { CauseID($0) })
        let entries = found.prefix(limit).map(Timeline.Entry.init)
        return jsonResponse(
            Timeline(task: id.name, entries: entries, next: found.count > limit ? entries.last?.number : nil))
    }

    private struct Switches: Encodable {
        var task: String
        var switches: [TaskView.Switch]
    }

    @Sendable private func switches(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let id = try context.taskID()
        _ = try await registry.task(id)
        let limit = try request.queryInteger("limit", in: 1...Retention.switches) ?? 50
        return jsonResponse(Switches(task: id.name, switches: try await history.switches(of: id, limit: limit)))
    }
}
