import MixModel
import RoomChannel

/// The channel of a room that this node has, in memory. Belongs to `RoomChannels`.
final class OpenChannel: ChannelFollowers {
    let room: RoomID
    var viewers: [ChannelViewer.ID: ChannelFollower] = [:]
    var usedAt: Int64
    var machine: ChannelMachine
    /// The other nodes that mirror it.
    var watchers = ChannelWatchers()
    /// Times, in ns, at which the machine is to be woken; the earliest only.
    var wakesAt: Int64?
    /// Program whose viewers count.
    var program: TaskID?
    /// Whether the program's relay has yet to report, so that what another node knew of it holds.
    var isFresh = false
    /// Whether the room was created through the channel.
    var isMadeHere = false
    /// Whether nothing may change, because the room is about to move.
    var isFrozen = false
    /// Number of this node's lease of the room; 0 without a cluster.
    var epoch: Int64 = 0

    /// The machine's `memoryRevision` that the store has.
    var storedRevision = 0

    init(_ room: RoomID, machine: ChannelMachine, now: Int64) {
        self.room = room
        self.machine = machine
        usedAt = now
    }

    var state: ChannelState { machine.state }
    var history: ChannelHistory { machine.history }

    /// Whether somebody follows it, here or at another node.
    var isFollowed: Bool { !viewers.isEmpty || !watchers.isEmpty }
}
