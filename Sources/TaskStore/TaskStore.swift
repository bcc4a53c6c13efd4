import MixModel

/// A store of rooms, tasks, events and layout versions that survives a crash at any instruction.
///
/// Documents have a version. A write names the version at which its document was read; a write that lost a race is
/// refused. A `StoreChange` is stored whole or not at all. `commit` returns only when the change is durable.
///
/// Every implementation passes the conformance suite in `TaskStoreTests`.
public protocol TaskStore: DocumentStore, RoomQueries, EventLog, LayoutHistory, ChannelStore, ClusterStore, Outbox,
    DeliveryLog
{
    /// Stores a change; returns when it is durable.
    ///
    /// - Throws: `StoreError.conflict` if a document is not at the expected version, `StoreError.fenced` if another
    ///   node holds a lease, `StoreError.overloaded` if too many changes are already waiting. Nothing is stored then.
    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult
    /// Takes tasks as `claim` does and commits a change that requires them. The tasks stay taken if the change is
    /// refused.
    ///
    /// - Returns: The result of the change, and the leases of `tasks`.
    /// - Throws: As `commit` and `claim`; `StoreError.fenced` if another node has one of the tasks.
    func commit(
        _ change: StoreChange, claiming tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> (CommitResult, [Lease])
    /// Writes a value durably and reads it back.
    func check() async throws(StoreError)
    /// Removes a part of the data that `Retention` no longer keeps. Stores also do so by themselves.
    ///
    /// - Returns: The number of rows removed; 0 if nothing is left to remove.
    @discardableResult func removeExpired() async throws(StoreError) -> Int
    /// Closes the store after the pending writes. Every later call throws.
    func close() async
}

extension TaskStore {
    /// Claims and commits in two steps, for stores that cannot do both at once.
    public func commit(
        _ change: StoreChange, claiming tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> (CommitResult, [Lease]) {
        let leases = try await claim(tasks, by: node, for: duration)
        if let missing = tasks.first(where: { task in !leases.contains { $0.task == task } }) {
            throw .fenced("task \(missing)")
        }
        var guarded = change
        guarded.require += leases.map { StoreChange.Requirement(task: $0.task, fence: $0.fence) }
        return (try await commit(guarded), leases)
    }
}

/// The latest stored state of rooms and tasks.
public protocol DocumentStore: Sendable {
    func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>?
    /// Returns all rooms, ordered by identifier.
    func rooms() async throws(StoreError) -> [Versioned<Room>]
    func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>?
    /// Returns all tasks, ordered by identifier.
    func tasks() async throws(StoreError) -> [Versioned<TaskMachine>]
}

/// The history of rooms and tasks. It is only appended to; `Retention` removes its oldest entries.
public protocol EventLog: Sendable {
    /// Returns the room's events in the order of their acceptance, oldest first.
    ///
    /// The search reads the whole log. It is intended for diagnosis, not for the processing of events.
    func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent]
    /// Returns the task's timeline, newest entry first.
    func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry]
    /// Returns the task's switches, newest first.
    func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord]
}

/// The versions and events of layouts.
public protocol LayoutHistory: Sendable {
    /// Returns the newest version of each layout, ordered by name.
    func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion]
    /// Returns the versions of a layout, newest first.
    func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion]
    /// Returns the bytes of a version of a layout; `nil` if the version is not kept or never existed.
    func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]?
    /// Returns the events of a layout, newest first.
    func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent]
}
