import MixModel

/// Finding rooms and tasks without reading all of them: a service keeps only those in memory in which something happens.
public protocol RoomQueries: Sendable {
    /// Every task of the room, ordered by id.
    func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>]
    /// The tasks that have a relay, or want one, ordered by id.
    func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>]
    /// The rooms in which somebody publishes, ordered.
    func liveRooms() async throws(StoreError) -> [RoomID]
    /// At most `limit` rooms that come after this one, ordered by id; `nil` = from the first.
    func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>]
    /// At most `limit` rooms that have a task and come after this one, ordered by id; `nil` = from the first.
    func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID]
    /// The room of every task.
    func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID]
    /// How many rooms and tasks are stored.
    func counts() async throws(StoreError) -> (rooms: Int, tasks: Int)
    /// The rooms that name a layout, by its name; ordered. Rooms that name none are left out.
    func roomsNamingLayouts() async throws(StoreError) -> [String: [RoomID]]
}

extension Room {
    /// Whether the room has to be in memory after a start.
    var isLive: Bool { hasStreams }
}
