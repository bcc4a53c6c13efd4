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
    /// Time, in ns, at which the machine must be woken. Only the earliest of several is kept.
    var wakesAt: Int64?
    /// The program whose viewers are counted.
    var program: TaskID?
    /// Whether the program's relay has yet to report. Until then, the values from the previous node hold.
    var isFresh = false
    /// Whether the room was created through the channel.
    var isMadeHere = false
    /// Whether changes are held back because the room is about to move.
    var isFrozen = false
    /// Number of this node's lease of the room; 0 without a cluster.
    var epoch: Int64 = 0

    /// The machine's `memoryRevision` that was last stored.
    var storedRevision = 0

    init(_ room: RoomID, machine: ChannelMachine, now: Int64) {
        self.room = room
        self.machine = machine
        usedAt = now
    }

    var state: ChannelState { machine.state }
    var history: ChannelHistory { machine.history }

    /// Whether the channel has viewers, here or at another node.
    var isFollowed: Bool { !viewers.isEmpty || !watchers.isEmpty }
}
