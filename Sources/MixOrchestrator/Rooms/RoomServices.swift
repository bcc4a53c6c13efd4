import EventSubscription
import LayoutEngine
import Logging
import MixModel
import TaskStore

/// What every room owner needs; immutable, shared.
struct RoomServices: Sendable {
    var store: any TaskStore
    var sockets: RelaySockets
    var starter: any RelayStarting
    var layouts: Layouts
    var metrics: Metrics
    var logger: Logger
    /// For rooms without outputs of their own; `{room}` is replaced in the URLs.
    var defaultOutputs: [PlannedOutput]
    var defaultLayout: String
    var defaultCanvas: Canvas
    var load = LoadLedger()

    func layoutName(of room: Room) -> String { room.settings.layout ?? defaultLayout }

    func context(for room: Room) -> PlanningContext {
        PlanningContext(
            template: layouts.template(layoutName(of: room)),
            defaultOutputs: defaultOutputs.map { output in
                PlannedOutput(
                    id: output.id, url: EventParser.substitute(output.url, ["room": room.id.rawValue]))
            },
            defaultCanvas: defaultCanvas)
    }
}
