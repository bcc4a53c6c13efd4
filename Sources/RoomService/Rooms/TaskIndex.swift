import MixModel
import Synchronization

/// The room of each explicit task. Identifiers of automatic tasks contain the room's name.
package final class TaskIndex: Sendable {
    private let rooms = Mutex<[TaskID: RoomID]>([:])

    /// Returns the room of an explicit task; `nil` for an identifier that no explicit task has.
    package func room(of task: TaskID) -> RoomID? { rooms.withLock { $0[task] } }

    /// Claims the identifier for a task of this room.
    ///
    /// - Returns: The room whose task already has the identifier, possibly this one; `nil` when it was free.
    func claim(_ task: TaskID, for room: RoomID) -> RoomID? {
        rooms.withLock { rooms in
            defer { rooms[task] = rooms[task] ?? room }
            return rooms[task]
        }
    }

    /// Rooms with explicit tasks, ordered by identifier.
    var allRooms: [RoomID] { rooms.withLock { Set($0.values) }.sorted() }

    /// Returns the app's explicit tasks, ordered by identifier.
    package func tasks(of app: AppID) -> [TaskID] {
        rooms.withLock { rooms in rooms.keys.filter { $0.app == app } }.sorted()
    }

    /// All explicit tasks with their rooms.
    var entries: [TaskID: RoomID] { rooms.withLock { $0 } }

    func release(_ task: TaskID) { rooms.withLock { $0[task] = nil } }

    /// Releases the identifier of a task of a room that belongs to another node.
    func release(_ task: TaskID, of room: RoomID, unlessAt homes: any RoomHomes) {
        rooms.withLock { rooms in
            // Asked under the lock: the room may have come here and claimed the identifier again.
            if rooms[task] == room, !homes.has(room) { rooms[task] = nil }
        }
    }
}

extension TaskID {
    /// Prefix of the identifiers of automatic tasks, which no other identifier has.
    package static let automaticPrefix = "auto-"

    /// The room whose automatic task has this identifier; `nil` for other identifiers.
    var roomOfAutomatic: RoomID? {
        let name = name
        guard name.startsInUTF8(with: Self.automaticPrefix) else { return nil }
        return RoomID(
            app: app,
            name: String(decoding: name.utf8.dropFirst(Self.automaticPrefix.utf8.count), as: UTF8.self))
    }
}
