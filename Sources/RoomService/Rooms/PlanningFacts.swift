import EventSubscription
import LayoutEngine
import MixModel

/// The facts outside a room that decisions about it depend on. All are in memory, so that no decision waits.
package protocol PlanningFacts: Sendable {
    /// Layout of rooms that select none.
    var defaultLayout: String { get }

    /// Returns whether a room of this app without outputs of its own gets a program even if no outputs are configured.
    func playsWithoutOutputs(_ app: AppID) -> Bool

    /// Destinations of rooms that have none of their own.
    func configuredOutputs(of room: Room) -> [PushDestination]

    /// Returns the context of the room's program, without the reports of its relay and the machine's load.
    func context(for room: Room) -> PlanningContext

    /// Returns the names of the values shown by texts of the room's layout.
    func shownValues(of room: Room) -> LayoutValues.Names

    /// Returns the images named by the values of the layout's parameters.
    func parameterImages(of room: Room) -> Set<String>

    /// Adds the effects of the machine's load on a decision about this task to `context`.
    func advise(_ context: inout PlanningContext, on task: TaskMachine, priority: Int)
}

extension PlanningFacts {
    package func layoutName(of room: Room) -> String { room.settings.layout ?? defaultLayout }

    /// Returns the destinations of the room's program: its own, or else the configured ones.
    package func outputs(of room: Room) -> [PushDestination] { room.settings.outputs ?? configuredOutputs(of: room) }

    /// Returns whether the room's program has an output of any kind, or needs none.
    package func hasDestination(_ room: Room) -> Bool {
        room.settings.outputs == nil && playsWithoutOutputs(room.id.app)
            || !outputs(of: room).isEmpty || OutputPlanner.isRequested(by: room.settings)
    }
}
