extension PlannedRecording: OutputPlanning {
    public static func isRequested(by settings: RoomSettings) -> Bool { settings.recording != nil }

    public static func planned(for room: Room, in context: PlanningContext) -> [PlannedRecording] {
        guard let settings = room.settings.recording, let place = context.places.place(RecordingPlace.self) else {
            return []
        }
        return [place.plan(settings, of: room.id)]
    }
}
