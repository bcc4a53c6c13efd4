/// Where a room's owner lives, and which makes the next one when it was dropped.
protocol RoomHome: AnyObject, Sendable {
    /// Says that the owner could be dropped. Called from the owner; must not call back.
    func offer(_ owner: RoomOwner)
    /// Who owns the room after `owner` was dropped.
    func successor(of owner: RoomOwner) async throws(OrchestratorError) -> RoomOwner
}
