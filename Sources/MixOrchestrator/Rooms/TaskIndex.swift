import MixModel
import Synchronization

/// Which room an explicit task belongs to. Automatic ones say it in their name.
final class TaskIndex: Sendable {
    private let rooms = Mutex<[TaskID: RoomID]>([:])

    /// `nil` for an id that no explicit task has.
    func room(of task: TaskID) -> RoomID? { rooms.withLock { $0[task] } }

    /// Takes the id for a task of this room.
    ///
    /// - Returns: The room whose task has the id already, be it this one; `nil` when it was free.
    func claim(_ task: TaskID, for room: RoomID) -> RoomID? {
        rooms.withLock { rooms in
            defer { rooms[task] = rooms[task] ?? room }
            return rooms[task]
        }
    }

    /// Ordered.
    var allRooms: [RoomID] { rooms.withLock { Set($0.values) }.sorted() }

    /// The app's, ordered.
    func tasks(of app: AppID) -> [TaskID] {
        rooms.withLock { rooms in rooms.keys.filter { $0.app == app } }.sorted()
    }

    func release(_ task: TaskID) { rooms.withLock { $0[task] = nil } }
}

extension TaskID {
    /// What the ids of automatic tasks begin with, and no others do.
    static let automaticPrefix = "auto-"

    /// The room whose automatic task has this id.
    var roomOfAutomatic: RoomID? {
        let name = name
        guard name.startsInUTF8(with: Self.automaticPrefix) else { return nil }
        return RoomID(
            app: app,
            name: String(decoding: name.utf8.dropFirst(Self.automaticPrefix.utf8.count), as: UTF8.self))
    }
}
