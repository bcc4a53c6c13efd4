import Synchronization

/// Lets requests into a room's mailbox and closes it for good when its owner is dropped. Thread-safe.
///
/// The last request and the closing cannot miss each other: a request that was let in is answered by this owner, one
/// that was not goes to the next.
final class RoomGate: Sendable {
    enum Admission {
        case admitted
        /// Too many requests wait.
        case full
        /// The owner was dropped.
        case closed
    }

    private struct State {
        /// Requests that were let in and are not answered yet.
        var inside = 0
        /// The owner waits for messages and could be dropped.
        var isDispensable = false
        /// Nothing of the room is stored.
        var isGone = false
        /// Somebody publishes in the room.
        var isLive = false
        /// The registry has been told so, and has not answered.
        var isOffered = false
        var isClosed = false
    }
    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: Requests that may be inside at once.
    init(limit: Int) { self.limit = limit }

    /// Every `.admitted` is followed by one `leave`.
    func enter() -> Admission {
        state.withLock { state in
            if state.isClosed { return .closed }
            guard state.inside < limit else { return .full }
            state.inside += 1
            return .admitted
        }
    }

    func leave() { state.withLock { $0.inside -= 1 } }

    /// The owner takes a message.
    func beginWork() { state.withLock { $0.isDispensable = false } }

    /// The owner waits for the next message.
    ///
    /// - Parameters:
    ///   - isGone: Nothing of the room is stored.
    ///   - isLive: Somebody publishes in the room.
    /// - Returns: Whether it should be offered to the registry now.
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

    /// Nothing of the room was stored when the owner last came to rest.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Somebody published in the room when the owner last came to rest.
    var isLive: Bool { state.withLock { $0.isLive } }

    /// The owner waits for messages and could be dropped.
    var isDispensable: Bool { state.withLock { $0.isDispensable } }

    /// Lets nobody in any more.
    func close() { state.withLock { $0.isClosed = true } }

    /// Closes the gate if nothing is inside and the owner can be dropped. Afterwards an owner that stayed offers itself
    /// again when it next comes to rest.
    func closeAtRest() -> Bool {
        state.withLock { state in
            state.isOffered = false
            guard state.inside == 0, state.isDispensable else { return false }
            state.isClosed = true
            return true
        }
    }
}
