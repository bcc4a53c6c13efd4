import RoomChannel

/// The settings of all channels.
package struct ChannelSettings: Sendable {
    /// Rules that every room begins with.
    package var rules = ChannelRules()
    /// Most messages, and bytes, of a room's history.
    package var history = 200
    package var historyBytes = 64 << 10
    /// Whether the store has messages, likes, mutes and rules, so that they survive a restart.
    package var isStored = false
    /// Most channels in memory.
    package var mostChannels = 2000
    /// Seconds without viewers and messages after which a channel and its history are forgotten.
    package var idleSeconds = 600
    /// Seconds for which a comment stays in the picture of a layout that shows it; 0 = until the next one.
    package var commentSeconds = 20
    /// Most viewers of all channels, of one, and from one address.
    package var mostViewers = 10_000
    package var mostViewersOfRoom = 10_000
    package var mostViewersOfAddress = 1000

    package init() {}
}
