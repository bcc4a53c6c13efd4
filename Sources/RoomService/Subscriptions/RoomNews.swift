import MixModel
import Synchronization

/// The rooms whose changes are watched, and those that have changed. Thread-safe.
///
/// Only names are kept. The reader reads a changed room in its state at that time, so that changes that arrive faster
/// than they are processed are merged. A change of a room that is not watched costs one set look-up.
package final class RoomNews: Sendable {
    private struct State {
        var watched: Set<RoomID> = []
        var changed: Set<RoomID> = []
    }
    private let state = Mutex(State())
    /// The number of watched rooms, which is read at every change of every room.
    private let count = Atomic(0)
    /// Yields when watched rooms have changed. For a single reader.
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

    /// Records that a room, its feed on air, or its existence has changed.
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
