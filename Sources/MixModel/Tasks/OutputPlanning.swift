/// The planning of one kind of output. Pure.
public protocol OutputPlanning: OutputDocument {
    /// Returns whether a room with these settings has such an output regardless of the service's configuration.
    static func isRequested(by settings: RoomSettings) -> Bool

    /// Returns the documents of this kind for the room's program; none if it is not requested or not possible.
    static func planned(for room: Room, in context: PlanningContext) -> [Self]
}

/// The planning of all kinds of outputs.
public enum OutputPlanner {
    /// Kinds of `OutputDocuments` that rooms can have.
    static let kinds: [any OutputPlanning.Type] = OutputDocuments.all.compactMap { $0 as? any OutputPlanning.Type }

    /// Returns the outputs of the room's program, kind by kind.
    public static func outputs(of room: Room, in context: PlanningContext) -> [PlannedOutput] {
        func plan<Kind: OutputPlanning>(_ kind: Kind.Type) -> [PlannedOutput] {
            [PlannedOutput](kind.planned(for: room, in: context))
        }
        return kinds.flatMap { plan($0) }
    }

    /// Returns whether the settings request an output themselves, so that a room with streams needs a task.
    public static func isRequested(by settings: RoomSettings) -> Bool {
        kinds.contains { $0.isRequested(by: settings) }
    }
}
