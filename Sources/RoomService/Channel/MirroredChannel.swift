import MixModel
import RoomChannel
import TaskStore

/// The channel of a room that another node has, for those who follow it here. Belongs to `RoomChannels`.
final class MirroredChannel: ChannelFollowers {
    /// What the task that follows the channel begins with.
    struct Start: Sendable {
        let room: RoomID
        /// Tells the mirrors of a room apart.
        let number: Int
        /// Yields when the number of viewers has changed; ends with the mirror.
        let counts: AsyncStream<Void>
    }

    let start: Start
    var viewers: [ChannelViewer.ID: ChannelFollower]
    var usedAt: Int64
    var machine: ChannelMirror
    /// The node that is asked.
    var node: NodeProfile?
    /// Number of viewers that the node was told.
    var toldViewers = 0
    private let count: AsyncStream<Void>.Continuation

    init(
        _ room: RoomID, _ machine: ChannelMirror, at node: NodeProfile?, number: Int,
        viewers: [ChannelViewer.ID: ChannelFollower] = [:], now: Int64
    ) {
        self.machine = machine
        self.node = node
        let (counts, count) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.count = count
        start = Start(room: room, number: number, counts: counts)
        self.viewers = viewers
        usedAt = now
    }

    var room: RoomID { start.room }
    var state: ChannelState { machine.state }
    var history: ChannelHistory { machine.history }

    /// Takes note that the number of viewers has changed.
    func countChanged() { count.yield() }

    /// Has the task that follows the channel end.
    func stop() { count.finish() }
}
