import EncodedMedia
import MixModel
import TaskStore

/// State of rooms in this node's memory, beside their owners, that moves with the rooms to other nodes.
package protocol RoomBelongings: AnyObject, Sendable {
    /// The rooms with such state. The node keeps these rooms.
    var rooms: Set<RoomID> { get async }
    /// Freezes the state of a room that is about to move, and sends it to the next node. The caller calls `stay` or
    /// `leave` afterwards.
    ///
    /// - Returns: The reason why the next node does not have the state; `nil` if it has it, or cannot use it.
    func handOver(_ room: RoomID, to other: NodeProfile) async -> String?
    /// Called when a room that was about to move stays.
    func stay(_ room: RoomID) async
    /// Called when a room has moved to another node.
    func leave(_ room: RoomID) async
    /// Called when a room has arrived at this node.
    func arrive(_ room: RoomID) async
    /// Drops the state that was received for a room that does not arrive.
    func dropHandover(of room: RoomID) async
}

extension ClusterNode {
    /// Sets the state that moves with the node's rooms. Call before `run`.
    package func attach(_ belongings: any RoomBelongings) { self.belongings.withLock { $0 = belongings } }

    /// Returns whether no other node can have the room at this moment, and it is not about to move. A node that was suspended
    /// may have lost a room without knowing it.
    func isSure(of room: RoomID) -> Bool {
        let now = BootClock.now()
        return machine.withLock { machine in
            guard let holding = machine.holdings[room] else { return false }
            return !holding.isLeaving && holding.until > now
        }
    }

    /// Number of this node's lease of the room; `nil` if another node has it.
    func epoch(of room: RoomID) -> Int64? { machine.withLock { $0.holdings[room]?.fence.epoch } }

    /// Notifies the belongings that a room has arrived.
    func arrived(_ room: RoomID) async { await belongings.withLock { $0 }?.arrive(room) }

    /// Notifies the belongings that a room has left.
    func departed(_ room: RoomID) async { await belongings.withLock { $0 }?.leave(room) }
}
