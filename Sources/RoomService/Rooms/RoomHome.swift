/// The creator of room owners, which also creates the next owner when one was dropped.
protocol RoomHome: AnyObject, Sendable {
    /// Offers an owner that could be dropped. Called by the owner; must not call back.
    func offer(_ owner: RoomOwner)
    /// Returns the owner of the room after `owner` was dropped.
    func successor(of owner: RoomOwner) async throws(OrchestratorError) -> RoomOwner
}
