import LayoutEngine
import MixModel
import Synchronization

/// The values that layouts show, as reported by the rooms' channels. Thread-safe.
///
/// Owners report which names the layouts on air show; values of other rooms, and of other names, are not kept. A room
/// whose values change is due at once, and then again after `interval` with the values at that time, so that the last
/// values always arrive. Nothing is stored.
package final class ProgramValues: Sendable {
    private struct Entry {
        var names: LayoutValues.Names
        var values = LayoutValues()
        /// Values that the room last received.
        var told = LayoutValues()
        /// Time from which the room may receive values again, in ns of CLOCK_MONOTONIC.
        var dueAt = Int64.min
    }
    private struct State {
        var entries: [RoomID: Entry] = [:]
        /// Rooms that have begun to show values, or now show different ones.
        var new: Set<RoomID> = []
    }
    private let state = Mutex(State())
    /// The number of rooms that show values, which is read at every change of every channel.
    private let count = Atomic(0)

    /// Shortest time between two changes of a room's picture, in ns.
    package static let interval: Int64 = 1_000_000_000

    package init() {}

    /// Records the names that the layouts on air in a room show.
    func show(_ names: LayoutValues.Names, in room: RoomID) {
        state.withLock { state in
            if names.isEmpty {
                state.entries[room] = nil
                state.new.remove(room)
            } else if state.entries[room]?.names != names {
                state.entries[room, default: Entry(names: names)].names = names
                state.new.insert(room)
            }
            count.store(state.entries.count, ordering: .relaxed)
        }
    }

    /// Returns the names that the layouts on air in a room show.
    func shown(in room: RoomID) -> LayoutValues.Names {
        guard count.load(ordering: .relaxed) > 0 else { return [] }
        return state.withLock { $0.entries[room]?.names ?? [] }
    }

    /// Whether any room shows values.
    var isAnyShown: Bool { count.load(ordering: .relaxed) > 0 }

    /// Sets the current values of a room. They are kept only while its layouts show them.
    func set(_ values: LayoutValues, of room: RoomID) {
        state.withLock { state in
            guard let names = state.entries[room]?.names else { return }
            state.entries[room]?.values = values.only(names)
        }
    }

    /// Returns the current values of a room; empty while its layouts show none.
    func values(of room: RoomID) -> LayoutValues {
        guard isAnyShown else { return LayoutValues() }
        return state.withLock { $0.entries[room]?.values ?? LayoutValues() }
    }

    /// Removes and returns the rooms that have begun to show values.
    func takeNew() -> Set<RoomID> {
        state.withLock { state in
            defer { state.new = [] }
            return state.new
        }
    }

    /// Rooms that show values.
    var rooms: [RoomID] { state.withLock { Array($0.entries.keys) } }

    /// Returns the rooms that must now show different values, and marks them as up to date.
    ///
    /// - Parameter now: Time in ns of CLOCK_MONOTONIC.
    func takeDue(at now: Int64) -> [RoomID] {
        state.withLock { state in
            let due = state.entries.filter { $0.value.values != $0.value.told && $0.value.dueAt <= now }.map(\.key)
            for room in due {
                guard var entry = state.entries[room] else { continue }
                (entry.told, entry.dueAt) = (entry.values, now + Self.interval)
                state.entries[room] = entry
            }
            return due
        }
    }
}
