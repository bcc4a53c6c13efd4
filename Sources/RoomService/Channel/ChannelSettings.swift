import MixModel
import RoomChannel

/// The settings of all channels.
package struct ChannelSettings: Sendable {
    /// Rules with which every room starts.
    package var rules = ChannelRules()
    /// Limits of a room's history, in messages and bytes.
    package var history = 200
    package var historyBytes = 64 << 10
    /// Whether the store has messages, likes, mutes and rules, so that they survive a restart.
    package var isStored = false
    /// Maximum number of channels in memory.
    package var mostChannels = 2000
    /// Seconds without viewers and messages after which a channel and its history are dropped.
    package var idleSeconds = 600
    /// Seconds for which a layout shows a comment; 0 = until the next comment.
    package var commentSeconds = 20
    /// Limits on viewers: of all channels together, of one channel, and from one address.
    package var mostViewers = 10_000
    package var mostViewersOfRoom = 10_000
    package var mostViewersOfAddress = 1000
    /// The apps for which places of `mostChannels` and `mostViewers` are kept (`AppShares`).
    package var apps: Set<AppID> = [.standard]

    package init() {}

    /// The division of the channels in memory among the apps.
    var channelShares: AppShares { AppShares(places: mostChannels, apps: apps) }
}
