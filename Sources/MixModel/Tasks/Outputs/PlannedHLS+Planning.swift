extension PlannedHLS: OutputPlanning {
    public static func isRequested(by settings: RoomSettings) -> Bool { settings.hls != nil }

    public static func planned(for room: Room, in context: PlanningContext) -> [PlannedHLS] {
        guard let settings = room.settings.hls, let place = context.places.place(HLSPlace.self) else { return [] }
        return [PlannedHLS(directory: place.directory(of: room.id), settings: settings)]
    }
}
