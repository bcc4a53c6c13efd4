import MixModel

/// One life of a process that runs tasks. Every start is another node, so that what an earlier life still writes is
/// refused.
public struct NodeID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A node that is registered and was not expelled.
public struct Node: Hashable, Sendable {
    public var id: NodeID
    /// The same in all lives: the machine, or the data directory.
    public var name: String

    public init(id: NodeID, name: String) {
        self.id = id
        self.name = name
    }
}

/// Proves that a writer is still the one that was given a task.
public struct Fence: Hashable, Sendable {
    public var owner: NodeID
    /// Grows with every owner that a task gets.
    public var epoch: Int64

    public init(owner: NodeID, epoch: Int64) {
        self.owner = owner
        self.epoch = epoch
    }
}

/// The right to run a task until it is renewed no more.
public struct Lease: Hashable, Sendable {
    public var task: TaskID
    public var fence: Fence

    public init(task: TaskID, fence: Fence) {
        self.task = task
        self.fence = fence
    }
}

/// What became of a node's leases when they were renewed.
public enum Renewal: Hashable, Sendable {
    /// Every one is still held.
    case kept
    /// They had run out: another node may have taken some. `leases(of:)` tells which are left.
    case lapsed
}

/// Which node runs which task.
///
/// A node's leases run out together, `duration` after its last call of `register`, `claim` or `renew`, judged by the
/// store's clock alone. Holders count from before that call on a clock of their own. A lease that ran out and that nobody
/// took still lets its holder write: taking over is what fences.
public protocol LeaseStore: Sendable {
    /// - Parameter name: Same for all lives of one node.
    /// - Returns: A node that never was before.
    func register(_ name: String, for duration: Duration) async throws(StoreError) -> NodeID
    /// Every node that was not expelled, also those whose leases ran out; ordered as they registered.
    func nodes() async throws(StoreError) -> [Node]
    /// Takes tasks that nobody has, or whose holder's leases ran out. They need not be stored yet.
    ///
    /// - Returns: Those of `tasks` that the node has now, old and new.
    /// - Throws: `StoreError.expelled`.
    func claim(_ tasks: [TaskID], by node: NodeID, for duration: Duration) async throws(StoreError) -> [Lease]
    /// Takes stored tasks that nobody has, or whose holder's leases ran out.
    ///
    /// - Returns: Those that were taken, at most `limit`, ordered by id.
    /// - Throws: `StoreError.expelled`.
    func claimAvailable(by node: NodeID, limit: Int, for duration: Duration) async throws(StoreError) -> [Lease]
    /// Keeps every lease of a node.
    ///
    /// - Throws: `StoreError.expelled`.
    func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal
    /// Gives a task back; does nothing when somebody else has it.
    func release(_ lease: Lease) async throws(StoreError)
    /// What a node has now, ordered by task.
    func leases(of node: NodeID) async throws(StoreError) -> [Lease]
    /// The stored tasks among them, ordered by id.
    func owned(by node: NodeID) async throws(StoreError) -> [Versioned<TaskMachine>]
    /// For a node that is known to be dead: its leases are free at once, and whatever it still writes is refused.
    func expel(_ node: NodeID) async throws(StoreError)
}
