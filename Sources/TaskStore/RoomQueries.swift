import MixModel

/// Finding rooms and tasks without reading all of them: a service keeps only those in memory in which something happens.
public protocol RoomQueries: Sendable {
    /// Every task of the room, ordered by id.
    func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>]
    /// The tasks that have a relay, or want one, ordered by id.
    func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>]
    /// At most `limit` rooms of this kind that come after the one of this number, in an order of the store's own; 0 = from
    /// the first.
    func rooms(of life: RoomLife, after number: Int64, limit: Int) async throws(StoreError) -> [NumberedRoom]
    /// At most `limit` rooms that come after this one, ordered by id; `nil` = from the first.
    func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>]
    /// At most `limit` rooms that have a task and come after this one, ordered by id; `nil` = from the first.
    func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID]
    /// The room of every task.
    func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID]
    /// How many rooms and tasks are stored.
    func counts() async throws(StoreError) -> (rooms: Int, tasks: Int)
    /// What each app has stored; apps without a room are left out. Reads all rooms: for a start.
    func usage() async throws(StoreError) -> [AppID: StoredUsage]
    /// At most `limit` of the app's rooms, or of all apps' (`nil`), that name this layout, ordered by id.
    func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID]
}

/// What a room asks of a start of the service.
public enum RoomLife: Int, Sendable, CaseIterable {
    /// Nothing: it is read when somebody names it.
    case dormant = 0
    /// Somebody publishes, and the room names where its program goes.
    case live = 1
    /// Somebody publishes, and the program goes where the configuration says, if it does.
    case liveByDefault = 2
    /// Nobody publishes, and the room names destinations or streams of others.
    case settled = 3
}

extension Room {
    var life: RoomLife {
        let settings = settings
        let isBound = settings.outputs?.isEmpty == false || settings.recording != nil || settings.hls != nil
        if !hasStreams { return isBound || settings.program != nil ? .settled : .dormant }
        return isBound ? .live : settings.outputs == nil ? .liveByDefault : .dormant
    }
}

/// A room and its place in the store's own order.
public struct NumberedRoom: Hashable, Sendable {
    public var number: Int64
    public var room: Room

    public init(number: Int64, room: Room) {
        self.number = number
        self.room = room
    }
}

/// What is stored of one app.
public struct StoredUsage: Hashable, Sendable {
    public var rooms: Int
    /// Of the rooms' documents.
    public var bytes: Int

    public init(rooms: Int, bytes: Int) {
        self.rooms = rooms
        self.bytes = bytes
    }
}
