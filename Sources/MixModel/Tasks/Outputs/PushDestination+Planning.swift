extension PushDestination: OutputPlanning {
    public static func isRequested(by settings: RoomSettings) -> Bool { settings.outputs?.isEmpty == false }

    /// Returns the room's own destinations, or else the configured ones.
    public static func planned(for room: Room, in context: PlanningContext) -> [PushDestination] {
        room.settings.outputs ?? context.defaultOutputs
    }
}
