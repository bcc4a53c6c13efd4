import MixModel
import Synchronization

/// The room of each explicit task. Ids of automatic tasks contain the room's name.
package final class TaskIndex: Sendable {
    private let rooms = Mutex<[TaskID: RoomID]>([:])

    /// Returns the room of an explicit task; `nil` for an id that no explicit task has.
    package func room(of task: TaskID) -> RoomID? { rooms.withLock { $0[task] } }

    /// Claims the id for a task of this room.
    ///
    /// - Returns: The room whose task already has the id, possibly this one; `nil` when the id was free.
    func claim(_ task: TaskID, for room: RoomID) -> RoomID? {
        rooms.withLock { rooms in
            defer { rooms[task] = rooms[task] ?? room }
            return rooms[task]
        }
    }

    /// Rooms with explicit tasks, ordered by id.
    var allRooms: [RoomID] { rooms.withLock { Set($0.values) }.sorted() }

    /// Returns the app's explicit tasks, ordered by id.
    package func tasks(of app: AppID) -> [TaskID] {
        rooms.withLock { rooms in rooms.keys.filter { $0.app == app } }.sorted()
    }

    func release(_ task: TaskID) { rooms.withLock { $0[task] = nil } }
}

extension TaskID {
    /// Prefix of the ids of automatic tasks, which no other id has.
    package static let automaticPrefix = "auto-"

    /// Room whose automatic task has this id; `nil` for other ids.
    var roomOfAutomatic: RoomID? {
        let name = name
        guard name.startsInUTF8(with: Self.automaticPrefix) else { return nil }
        return RoomID(
            app: app,
            name: String(decoding: name.utf8.dropFirst(Self.automaticPrefix.utf8.count), as: UTF8.self))
    }
}
