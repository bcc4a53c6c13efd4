import Synchronization

/// Admits requests to a room's mailbox. It closes permanently when its owner is dropped, and temporarily when the room
/// moves to another node. Thread-safe.
///
/// Admission and closing are atomic: this owner answers every admitted request, and every other request goes to the
/// next owner.
final class RoomGate: Sendable {
    enum Admission {
        case admitted
        /// Too many requests wait.
        case full
        /// The owner was dropped.
        case closed
    }

    private struct State {
        /// Number of admitted requests that are not answered yet.
        var inside = 0
        /// Whether the owner waits for messages and could be dropped.
        var isDispensable = false
        /// Whether nothing of the room is stored.
        var isGone = false
        /// Whether a participant is publishing in the room.
        var isLive = false
        /// Whether the owner was offered to the registry, which has not decided yet.
        var isOffered = false
        var isClosed = false
    }
    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: Maximum number of requests inside at once.
    init(limit: Int) { self.limit = limit }

    /// Admits a request. Every `.admitted` must be followed by one `leave`.
    func enter() -> Admission {
        state.withLock { state in
            if state.isClosed { return .closed }
            guard state.inside < limit else { return .full }
            state.inside += 1
            return .admitted
        }
    }

    func leave() { state.withLock { $0.inside -= 1 } }

    /// Records that the owner is processing a message.
    func beginWork() { state.withLock { $0.isDispensable = false } }

    /// Records that the owner waits for the next message.
    ///
    /// - Parameters:
    ///   - isDispensable: Whether the owner could be dropped.
    ///   - isGone: Whether nothing of the room is stored.
    ///   - isLive: Whether a participant is publishing in the room.
    /// - Returns: Whether the owner should now be offered to the registry.
    func endWork(isDispensable: Bool, isGone: Bool, isLive: Bool) -> Bool {
        state.withLock { state in
            state.isDispensable = isDispensable
            state.isGone = isGone
            state.isLive = isLive
            guard isDispensable, !state.isOffered else { return false }
            state.isOffered = true
            return true
        }
    }

    /// Whether nothing of the room was stored when the owner last became idle.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Whether a participant was publishing in the room when the owner last became idle.
    var isLive: Bool { state.withLock { $0.isLive } }

    /// Whether the owner waits for messages and could be dropped.
    var isDispensable: Bool { state.withLock { $0.isDispensable } }

    /// Refuses all further requests.
    func close() { state.withLock { $0.isClosed = true } }

    /// Admits requests again.
    func reopen() { state.withLock { $0.isClosed = false } }

    /// Whether no request waits for an answer.
    var isEmpty: Bool { state.withLock { $0.inside == 0 } }

    /// Closes the gate if no request is inside and the owner can be dropped. Otherwise the owner offers itself again
    /// when it next becomes idle.
    ///
    /// - Returns: Whether the gate is closed.
    func closeAtRest() -> Bool {
        state.withLock { state in
            state.isOffered = false
            guard state.inside == 0, state.isDispensable else { return false }
            state.isClosed = true
            return true
        }
    }
}
