import LayoutEngine
import MixModel

/// Values that layouts show. Pure.
extension RoomState {
    /// Returns a draft in which the mixes on air show the current values; `nil` if no picture changes.
    func showingValues(_ facts: some PlanningFacts) -> RoomDraft? {
        var draft = draft(cause: nil)
        draft.changeTasks { task, room in
            guard !shownValues(by: task, in: room, facts).isEmpty else { return [] }
            return task.valuesChanged(room, context: context(for: task, in: room, facts))
        }
        return draft.tasks.contains { !$0.actions.isEmpty } ? draft : nil
    }

    /// The names of the values that mixes on air show.
    func shownValues(_ facts: some PlanningFacts) -> LayoutValues.Names {
        tasks.reduce([]) { $0.union(shownValues(by: $1.machine.document, in: room.document, facts)) }
    }

    private func shownValues(by task: TaskMachine, in room: Room, _ facts: some PlanningFacts) -> LayoutValues.Names {
        task.showsLayout(in: room) ? facts.shownValues(of: task.seen(room)) : []
    }
}
