import MixModel
import RoomChannel

/// One room's channel in memory. Belongs to `RoomChannels`.
final class OpenChannel {
    struct Viewer {
        var address: String
        var deliver: @Sendable (ChannelDelivery) -> Bool
        /// Called once, if the room is deleted.
        var end: @Sendable () -> Void
    }

    let room: RoomID
    var machine: ChannelMachine
    var viewers: [ChannelViewer.ID: Viewer] = [:]
    /// Time of the last use, in ns of CLOCK_MONOTONIC.
    var usedAt: Int64
    /// Times, in ns, at which the machine is to be woken; the earliest only.
    var wakesAt: Int64?
    /// Program whose viewers count.
    var program: TaskID?
    /// Whether the room was created through the channel.
    var isMadeHere = false

    /// The machine's `memoryRevision` that the store has.
    var storedRevision = 0

    init(_ room: RoomID, machine: ChannelMachine, now: Int64) {
        self.room = room
        self.machine = machine
        usedAt = now
    }

    var state: ChannelState {
        ChannelState(
            isLive: machine.isLive, title: machine.title, onAir: machine.onAir, audience: machine.audience,
            likes: machine.likes, rules: machine.rules.shown)
    }
}
