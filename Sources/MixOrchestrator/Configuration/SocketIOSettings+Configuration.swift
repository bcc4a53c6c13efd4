import HTTPInterface
import RoomService

extension SocketIOSettings {
    /// Ranges of times, in seconds.
    private static let times = 0.1...3600.0
    private static let payloads = 1024...4_194_304

    /// - Parameter channel: The rooms' channels, in which clients of Socket.IO write.
    /// - Returns: `nil` if Socket.IO is off, which it always is without channels.
    init?(_ values: ConfigurationValues, channel: ChannelConfiguration?) throws(StartupError) {
        self.init()
        func milliseconds(_ key: String) throws(StartupError) -> Int? {
            try values.number(key, in: Self.times).map { Int(($0 * 1000).rounded()) }
        }
        engine.pingInterval = try milliseconds("socketio.pingInterval") ?? engine.pingInterval
        if let timeout = try milliseconds("socketio.pingTimeout") {
            engine.pingTimeout = timeout
            // Clients of version 3 divide it by the interval and round down: below 2, a late answer ends them.
            engine.pingTimeoutOfThree = max(timeout, engine.pingInterval * 2)
        }
        engine.pingTimeoutOfThree = max(engine.pingTimeoutOfThree, engine.pingInterval * 2)
        connectTimeout = try milliseconds("socketio.connectTimeout") ?? connectTimeout
        engine.limits.payload = try values.integer("socketio.maxPayload", in: Self.payloads) ?? engine.limits.payload
        packets.bytes = engine.limits.payload
        maxSessions = try values.integer("socketio.maxSessions", in: 1...1_000_000) ?? maxSessions
        maxSessionsPerAddress = try values.integer("socketio.maxSessionsPerAddress", in: 1...1_000_000) ?? maxSessions
        missingVersionIsThree = try values.flag("socketio.acceptMissingVersion") ?? missingVersionIsThree
        let origins = values.list("socketio.cors")
        if !origins.isEmpty { self.origins = try PlaybackOrigins(origins, setting: "socketio.cors") }
        isOpen = channel?.anonymousReading ?? false
        let isEnabled = try values.flag("socketio.enabled") ?? (channel != nil)
        guard channel != nil || !isEnabled else {
            throw StartupError(
                "configuration: socketio.enabled: found true without channels; expected channel.enabled: true, "
                    + "or socketio.enabled: false")
        }
        guard isEnabled else { return nil }
    }
}
