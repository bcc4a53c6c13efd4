import EncodedMedia
import MixModel
import TaskStore

/// What this node has in memory of its rooms beside their owners, and what goes with them to other nodes.
package protocol RoomBelongings: AnyObject, Sendable {
    /// The rooms of which there is something. The node keeps them.
    var rooms: Set<RoomID> { get async }
    /// Holds back everything that changes what belongs to a room that is about to move, and gives it to the next node. `stay` or
    /// `leave` follows.
    ///
    /// - Returns: The reason why the next node does not have it; `nil` if it has, or cannot use it.
    func handOver(_ room: RoomID, to other: NodeProfile) async -> String?
    /// Takes note that a room that was about to move stays.
    func stay(_ room: RoomID) async
    /// Takes note that a room has gone to another node.
    func leave(_ room: RoomID) async
    /// Takes note that a room has come to this node.
    func arrive(_ room: RoomID) async
    /// Forgets what was given for a room that does not come.
    func dropHandover(of room: RoomID) async
}

extension ClusterNode {
    /// Tells the node what goes with its rooms. Call before `run`.
    package func attach(_ belongings: any RoomBelongings) { self.belongings.withLock { $0 = belongings } }

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
    func arrived(_ room: RoomID) async { await belongings.withLock { $0 }?.arrive(room) }

    /// Takes note that a room has gone.
    func departed(_ room: RoomID) async { await belongings.withLock { $0 }?.leave(room) }
}
