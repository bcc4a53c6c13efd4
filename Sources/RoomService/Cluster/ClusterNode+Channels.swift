import EncodedMedia
import MixModel
import TaskStore

/// Channels of this node's rooms.
extension ClusterNode {
    /// Tells the node whose channels go with its rooms. Call before `run`.
    package func attach(_ channels: RoomChannels) { self.channels.withLock { $0 = channels } }

    /// Does what another node asks for. The caller has made sure that it is a node.
    ///
    /// - Returns: `nil` if channels are switched off.
    package func answer(_ order: ChannelOrder) async -> ChannelAnswer? {
        await channels.withLock { $0 }?.answer(order)
    }

    /// Whether no other node can have the room at this moment, and it is not about to move. A node that stood still may have
    /// lost a room without knowing it.
    func isSure(of room: RoomID) -> Bool {
        let now = BootClock.now()
        return machine.withLock { machine in
            guard let holding = machine.holdings[room] else { return false }
            return !holding.isLeaving && holding.until > now
        }
    }

    /// Number of this node's lease of the room; `nil` if another node has it.
    func epoch(of room: RoomID) -> Int64? { machine.withLock { $0.holdings[room]?.fence.epoch } }

    /// Takes note that a room has come.
    func arrived(_ room: RoomID) async { await channels.withLock { $0 }?.arrive(room) }

    /// Takes note that a room has gone.
    func departed(_ room: RoomID) async { await channels.withLock { $0 }?.leave(room) }
}
