import MixModel

/// Knows which rooms are this node's. Without a cluster there is none, and all rooms are.
package protocol RoomHomes: AnyObject, Sendable {
    /// Makes sure that the room is this node's before anything is decided on it, and takes it if no node has it.
    ///
    /// - Throws: `OrchestratorError` if another node has the room, or the store cannot say.
    func enter(_ room: RoomID) async throws(OrchestratorError)
    /// Makes sure that no other node has the room, so that what is stored of it is all there is to know.
    ///
    /// - Throws: As `enter`.
    func check(_ room: RoomID) async throws(OrchestratorError)
    /// Whether the room is this node's at this moment.
    func has(_ room: RoomID) -> Bool
    /// The rooms that are this node's at this moment.
    var rooms: Set<RoomID> { get }
    /// Where the RTMP ingests of the other nodes are reached, from which streams of any room may be pulled.
    var ingestPlaces: [IngestPlace] { get }
}
