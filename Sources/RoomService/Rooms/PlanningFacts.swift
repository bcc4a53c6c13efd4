import EventSubscription
import LayoutEngine
import MixModel

/// The facts outside a room on which decisions about it depend. All are in memory, so that no decision waits.
package protocol PlanningFacts: Sendable {
    /// Layout of rooms that name none.
    var defaultLayout: String { get }

    /// Whether a room of this app that names no outputs gets a program even if none are configured.
    func playsWithoutOutputs(_ app: AppID) -> Bool

    /// Destinations of rooms that have none of their own.
    func configuredOutputs(of room: Room) -> [PushDestination]

    /// Returns the context of the room's program, without what its relay has reported and without the machine's load.
    func context(for room: Room) -> PlanningContext

    /// Returns the names of the values that texts of the room's layout show.
    func shownValues(of room: Room) -> LayoutValues.Names

    /// Returns the images that the values of the layout's parameters name.
    func parameterImages(of room: Room) -> Set<String>

    /// Adds to `context` what the machine's load means for a decision about this task.
    func advise(_ context: inout PlanningContext, on task: TaskMachine, priority: Int)
}

extension PlanningFacts {
    package func layoutName(of room: Room) -> String { room.settings.layout ?? defaultLayout }

    /// Returns the destinations of the room's program: its own, or otherwise the configured ones.
    package func outputs(of room: Room) -> [PushDestination] { room.settings.outputs ?? configuredOutputs(of: room) }

    /// Whether the room's program has an output of any kind, or may do without.
    package func hasDestination(_ room: Room) -> Bool {
        room.settings.outputs == nil && playsWithoutOutputs(room.id.app)
            || !outputs(of: room).isEmpty || OutputPlanner.isRequested(by: room.settings)
    }
}
