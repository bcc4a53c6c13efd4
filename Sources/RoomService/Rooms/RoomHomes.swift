import MixModel

/// Tracks which rooms belong to this node. Without a cluster there is no instance, and all rooms do.
package protocol RoomHomes: AnyObject, Sendable {
    /// Ensures that the room belongs to this node before a decision about it is made, and takes the room if no node has
    /// it.
    ///
    /// - Throws: `OrchestratorError` if another node has the room, or the store cannot tell.
    func enter(_ room: RoomID) async throws(OrchestratorError)
    /// Ensures that no other node has the room, so that its stored state is complete.
    ///
    /// - Throws: As `enter`.
    func check(_ room: RoomID) async throws(OrchestratorError)
    /// Returns whether the room belongs to this node at this moment.
    func has(_ room: RoomID) -> Bool
    /// The rooms that belong to this node at this moment.
    var rooms: Set<RoomID> { get }
    /// Places of the other nodes' RTMP ingests, from which streams of any room may be pulled.
    var ingestPlaces: [IngestPlace] { get }
}
