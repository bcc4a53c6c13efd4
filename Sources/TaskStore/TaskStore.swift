import MixModel

/// Where rooms, tasks, events and the versions of layouts live so that they survive a crash at any instruction.
///
/// Documents carry a version; writing one names the version it was read at, and a write that lost a race is refused. All
/// of one `StoreChange` is stored, or none of it. `commit` returns only when the change is durable.
///
/// Every implementation passes the conformance suite in `TaskStoreTests`.
public protocol TaskStore: DocumentStore, RoomQueries, EventLog, LayoutHistory, LeaseStore, Outbox, DeliveryLog {
    /// - Throws: `StoreError.conflict` when a document is not at the expected version, `StoreError.fenced` when a lease
    ///   is another's, `StoreError.overloaded` when too much waits already: nothing is stored then.
    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult
    /// Takes tasks as `claim` does and commits a change that needs them. They stay taken when the change is refused.
    ///
    /// - Returns: What became of the change, and the leases of `tasks`.
    /// - Throws: As `commit` and `claim`; `StoreError.fenced` when another node has one of them.
    func commit(
        _ change: StoreChange, claiming tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> (CommitResult, [Lease])
    /// Returns when something was written durably and read back.
    func check() async throws(StoreError)
    /// Removes some of what `Retention` no longer keeps. Stores do it by themselves, too.
    ///
    /// - Returns: How many rows were removed; 0 when nothing is left to remove.
    @discardableResult func removeExpired() async throws(StoreError) -> Int
    /// After this every call throws. Waits for writes under way.
    func close() async
}

extension TaskStore {
    /// In two steps, for stores that have nothing better.
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

/// Rooms and tasks as they were stored last.
public protocol DocumentStore: Sendable {
    func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>?
    /// Ordered by id.
    func rooms() async throws(StoreError) -> [Versioned<Room>]
    func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>?
    /// Ordered by id.
    func tasks() async throws(StoreError) -> [Versioned<TaskMachine>]
}

/// What happened to rooms and tasks; only ever appended to, and cut off at its old end by `Retention`.
public protocol EventLog: Sendable {
    /// The room's events as they were accepted, oldest first. Looks through the whole log: for people who search for a
    /// cause, not for the path of an event.
    func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent]
    /// Newest first.
    func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry]
    /// Newest first.
    func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord]
}

/// What layouts consisted of.
public protocol LayoutHistory: Sendable {
    /// The newest version of each layout, ordered by name.
    func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion]
    /// Newest first.
    func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion]
    /// The file as it was; `nil` when this version is not kept (any more).
    func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]?
    /// Newest first.
    func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent]
}
