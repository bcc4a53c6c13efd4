import MixModel
import Synchronization

/// The rooms whose changes somebody wants to know of, and those that have changed. Thread-safe.
///
/// Only names are kept: whoever is woken reads the room as it is then, so that changes that come faster than they are
/// taken up are one. Rooms that are not watched cost a look into a set.
package final class RoomNews: Sendable {
    private struct State {
        var watched: Set<RoomID> = []
        var changed: Set<RoomID> = []
    }
    private let state = Mutex(State())
    /// The number of watched rooms, which is read at every change of every room.
    private let count = Atomic(0)
    /// Yields when watched rooms have changed. For one reader.
    let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    package init() { (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func watch(_ room: RoomID) {
        state.withLock { state in
            state.watched.insert(room)
            count.store(state.watched.count, ordering: .relaxed)
        }
    }

    func unwatch(_ room: RoomID) {
        state.withLock { state in
            state.watched.remove(room)
            state.changed.remove(room)
            count.store(state.watched.count, ordering: .relaxed)
        }
    }

    /// Takes note that a room, what is on air in it, or its existence has changed.
    func changed(_ room: RoomID) {
        guard count.load(ordering: .relaxed) > 0 else { return }
        let isNews = state.withLock { state in
            state.watched.contains(room) && state.changed.insert(room).inserted
        }
        if isNews { signal.yield() }
    }

    func takeChanged() -> Set<RoomID> {
        state.withLock { state in
            defer { state.changed = [] }
            return state.changed
        }
    }
}
