import MixModel
import RoomChannel
import TaskStore

/// The local copy of a channel whose room another node has, for its viewers at this node. Belongs to `RoomChannels`.
final class MirroredChannel: ChannelFollowers {
    /// The values with which the task that follows the channel starts.
    struct Start: Sendable {
        let room: RoomID
        /// Distinguishes successive mirrors of the same room.
        let number: Int
        /// Yields when the number of viewers has changed; ends with the mirror.
        let counts: AsyncStream<Void>
    }

    let start: Start
    var viewers: [ChannelViewer.ID: ChannelFollower]
    var usedAt: Int64
    var machine: ChannelMirror
    /// The node that is asked for news.
    var node: NodeProfile?
    /// Number of viewers last reported to that node.
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

    /// Signals that the number of viewers has changed.
    func countChanged() { count.yield() }

    /// Ends the task that follows the channel.
    func stop() { count.finish() }
}
