import HTTPInterface
import RoomChannel
import RoomService

/// The settings of the rooms' channels, below `channel`.
struct ChannelConfiguration: Sendable {
    var settings: ChannelSettings
    /// Keys of URLs that identify a user; open means none.
    var signatures: PlaybackAccess
    var anonymousReading: Bool
    var anonymousWriting: Bool
    /// Problems that do not prevent the service from starting but should be fixed.
    var warnings: [String]

    /// - Parameter apps: The apps that share the channels and the places of viewers.
    /// - Returns: `nil` if channels are switched off.
    init?(
        _ values: ConfigurationValues, apps: AppSettings, playback: PlaybackSettings, file: String?
    ) throws(StartupError) {
        guard try values.flag("channel.enabled") ?? true else { return nil }
        var settings = ChannelSettings()
        var rules = settings.rules
        rules.userRate = try values.number("channel.userRate", in: 0.01...1000) ?? rules.userRate
        rules.userBurst = try values.integer("channel.userBurst", in: 1...10_000) ?? rules.userBurst
        rules.roomRate = try values.number("channel.roomRate", in: 0.01...10_000) ?? rules.roomRate
        rules.roomBurst = try values.integer("channel.roomBurst", in: 1...100_000) ?? rules.roomBurst
        rules.likeNotices = try values.integer("channel.likeNotices", in: 1...10) ?? rules.likeNotices
        rules.mostCharacters = try values.integer("channel.maxCharacters", in: 1...2000) ?? rules.mostCharacters
        // In most scripts a character takes at most four bytes; emoji take more.
        rules.mostBytes = min(rules.mostCharacters * 4, 8000)
        rules.slowMode =
            try values.integer("channel.slowMode", in: 0...ChannelRules.longestSlowMode) ?? rules.slowMode
        do {
            rules.words = try WordList(values.list("channel.words"))
        } catch {
            throw StartupError("configuration: channel.words: \(error)")
        }
        settings.rules = rules
        settings.history = try values.integer("channel.history", in: 0...1000) ?? settings.history
        settings.isStored = try values.flag("channel.stored") ?? settings.isStored
        settings.mostChannels = try values.integer("channel.maxChannels", in: 1...100_000) ?? settings.mostChannels
        settings.idleSeconds = try values.integer("channel.idleSeconds", in: 1...86_400) ?? settings.idleSeconds
        settings.commentSeconds =
            try values.integer("channel.commentSeconds", in: 0...86_400) ?? settings.commentSeconds
        settings.mostViewers = try values.integer("channel.maxViewers", in: 0...1_000_000) ?? settings.mostViewers
        settings.mostViewersOfRoom =
            try values.integer("channel.maxViewersPerRoom", in: 0...1_000_000) ?? settings.mostViewersOfRoom
        settings.mostViewersOfAddress =
            try values.integer("channel.maxViewersPerAddress", in: 1...1_000_000) ?? settings.mostViewersOfAddress
        settings.apps = apps.sharers
        self.settings = settings
        var keys = PlaybackSettings()
        signatures = PlaybackAccess(
            keys: try [keys.key("channel.key", values, file: file)].compactMap(\.self),
            validity: try values.integer("channel.validity", in: 0...31_536_000) ?? 0)
        let shares = AppShares(places: settings.mostChannels, apps: settings.apps)
        warnings = keys.warnings + [shares.warning(about: "channel.maxChannels")].compactMap(\.self)
        anonymousReading = try values.flag("channel.anonymousReading") ?? playback.access.isOpen
        anonymousWriting = try values.flag("channel.anonymousWriting") ?? false
    }
}
