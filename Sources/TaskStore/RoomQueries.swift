import MixModel

/// Queries that find rooms and tasks without reading all of them. A service keeps only the active ones in memory.
public protocol RoomQueries: Sendable {
    /// Returns every task of the room, ordered by identifier.
    func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>]
    /// Returns the tasks that have or want a relay, ordered by identifier.
    func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>]
    /// Returns at most `limit` rooms of this life whose number is greater than `number`, in the store's own order. With
    /// `number` 0 it starts from the first room.
    func rooms(of life: RoomLife, after number: Int64, limit: Int) async throws(StoreError) -> [NumberedRoom]
    /// Returns at most `limit` rooms after this one, ordered by identifier; `nil` starts from the first.
    func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>]
    /// Returns at most `limit` rooms that have a task, after this one, ordered by identifier; `nil` starts from the
    /// first.
    func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID]
    /// Returns the room of every task.
    func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID]
    /// Returns the number of stored rooms and tasks.
    func counts() async throws(StoreError) -> (rooms: Int, tasks: Int)
    /// Returns the storage that each app uses; apps without rooms are left out. It reads all rooms and is intended for
    /// start-up.
    func usage() async throws(StoreError) -> [AppID: StoredUsage]
    /// Returns at most `limit` rooms of the app, or of all apps (`nil`), that name this layout, ordered by identifier.
    func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID]
}

/// A room's needs when the service starts.
public enum RoomLife: Int, Sendable, CaseIterable {
    /// The room needs nothing; it is read when a request names it.
    case dormant = 0
    /// A participant is publishing, and the room names destinations for its program.
    case live = 1
    /// A participant is publishing, and the program goes to the configured default destinations, if there are any.
    case liveByDefault = 2
    /// No participant is publishing, and the room names destinations or streams of other rooms.
    case settled = 3
}

extension Room {
    package var life: RoomLife {
        let settings = settings
        let isBound = OutputPlanner.isRequested(by: settings)
        if !hasStreams { return isBound || settings.program != nil ? .settled : .dormant }
        return isBound ? .live : settings.outputs == nil ? .liveByDefault : .dormant
    }
}

/// A room and its position in the store's own order.
public struct NumberedRoom: Hashable, Sendable {
    public var number: Int64
    public var room: Room

    public init(number: Int64, room: Room) {
        self.number = number
        self.room = room
    }
}

/// The storage that one app uses.
public struct StoredUsage: Hashable, Sendable {
    public var rooms: Int
    /// Size of the rooms' documents in bytes.
    public var bytes: Int

    public init(rooms: Int, bytes: Int) {
        self.rooms = rooms
        self.bytes = bytes
    }
}
