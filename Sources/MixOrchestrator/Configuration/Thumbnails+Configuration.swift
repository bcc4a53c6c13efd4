import RoomService

extension Previews.Settings {
    /// Creates the settings below `thumbnails`; `nil` if they are switched off.
    init?(_ values: ConfigurationValues) throws(StartupError) {
        self.init()
        interval = try values.integer("thumbnails.interval", in: Self.intervals) ?? interval
        size = try values.integer("thumbnails.size", in: Self.sizes) ?? size
        if interval == 0 { return nil }
    }
}
