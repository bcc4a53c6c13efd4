import Synchronization

/// Lets requests into a room and closes it for good when its owner is dropped. Thread-safe.
///
/// The last request and the closing cannot miss each other: a request that was let in is answered by this owner, one
/// that was not goes to the next. And one at a time works in the room: the owner's loop, or a request that found nobody
/// there.
final class RoomGate: Sendable {
    enum Admission {
        /// Nobody else is there: the request does its work itself, then calls `endWork`.
        case alone
        /// It has to wait in the mailbox.
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
        /// The registry has been told so, and has not answered.
        var isOffered = false
        var isClosed = false
        var isWorking = true
        /// The owner's loop, while a request is at work that it waits for.
        var waiting: CheckedContinuation<Void, Never>?
    }
    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: Requests that may be inside at once.
    init(limit: Int) { self.limit = limit }

    /// Every `.alone` and `.admitted` is followed by one `leave`.
    func enter() -> Admission {
        state.withLock { state in
            if state.isClosed { return .closed }
            guard state.inside < limit else { return .full }
            state.inside += 1
            guard state.inside == 1, !state.isWorking else { return .admitted }
            state.isWorking = true
            state.isDispensable = false
            return .alone
        }
    }

    func leave() { state.withLock { $0.inside -= 1 } }

    /// The owner's loop has a message, or none any more, and waits for a request that is at work. It alone calls this;
    /// until its first `endWork` it counts as being at work.
    func beginWork() async {
        guard !begins(nil) else { return }
        await withCheckedContinuation { continuation in
            if begins(continuation) { continuation.resume() }
        }
    }

    /// - Parameter waiting: Who waits if somebody else is at work.
    /// - Returns: Whether the work begins now.
    private func begins(_ waiting: CheckedContinuation<Void, Never>?) -> Bool {
        state.withLock { state in
            state.isDispensable = false
            guard state.isWorking else {
                state.isWorking = true
                return true
            }
            state.waiting = waiting
            return false
        }
    }

    /// What was begun is done.
    ///
    /// - Parameter isGone: Nothing of the room is stored.
    /// - Returns: Whether it should be offered to the registry now.
    func endWork(isDispensable: Bool, isGone: Bool) -> Bool {
        let (isOffered, next) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            state.isGone = isGone
            // Whoever waits goes on at once.
            if let next = state.waiting.take() { return (false, next) }
            state.isWorking = false
            state.isDispensable = isDispensable
            guard isDispensable, !state.isOffered else { return (false, nil) }
            state.isOffered = true
            return (true, nil)
        }
        next?.resume()
        return isOffered
    }

    /// Nothing of the room was stored when the owner last came to rest.
    var isGone: Bool { state.withLock { $0.isGone } }

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
