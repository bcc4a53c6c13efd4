import MixModel

/// An identifier of one life of a process that runs tasks. Every start is a new node, so that late writes of an earlier
/// life are refused.
public struct NodeID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A registered node that was not expelled.
public struct Node: Hashable, Sendable {
    public var id: NodeID
    /// Name of the machine or of the data directory, the same in all lives.
    public var name: String

    public init(id: NodeID, name: String) {
        self.id = id
        self.name = name
    }
}

/// Proof that a writer still owns a task.
public struct Fence: Hashable, Sendable {
    public var owner: NodeID
    /// Number that increases with every owner of the task.
    public var epoch: Int64

    public init(owner: NodeID, epoch: Int64) {
        self.owner = owner
        self.epoch = epoch
    }
}

/// The right to run a task for as long as it is renewed.
public struct Lease: Hashable, Sendable {
    public var task: TaskID
    public var fence: Fence

    public init(task: TaskID, fence: Fence) {
        self.task = task
        self.fence = fence
    }
}

/// The state of a node's leases when they were renewed.
public enum Renewal: Hashable, Sendable {
    /// The node still holds every lease.
    case kept
    /// The leases had expired, and another node may have taken some. `leases(of:)` returns the remaining ones.
    case lapsed
}

/// The assignment of tasks to nodes.
///
/// A node's leases expire together, `duration` after its last call of `register`, `claim` or `renew`, as judged by the
/// store's clock alone. Holders count on their own clock, from before that call. An expired lease still permits its
/// holder to write until another node takes the task: only the takeover fences.
public protocol LeaseStore: Sendable {
    /// Registers a node, unless a node of this name is at work at another site.
    ///
    /// - Parameters:
    ///   - name: A name that is the same in all lives of one machine or data directory.
    ///   - site: A text that only those lives share of which one at a time can exist: those of one data directory since one
    ///     start of its machine. `nil` = not compared. A store in a file compares none, because one machine alone uses it.
    /// - Returns: A node that did not exist before.
    /// - Throws: `StoreError.copied`; nothing is stored then.
    func register(_ name: String, at site: String?, for duration: Duration) async throws(StoreError) -> NodeID
    /// Returns every node that was not expelled, in the order of registration, including those whose leases have
    /// expired.
    func nodes() async throws(StoreError) -> [Node]
    /// Takes tasks that have no holder, or whose holder's leases have expired. The tasks need not be stored yet.
    ///
    /// - Returns: The leases of those of `tasks` that the node now holds, old and new.
    /// - Throws: `StoreError.expelled`.
    func claim(_ tasks: [TaskID], by node: NodeID, for duration: Duration) async throws(StoreError) -> [Lease]
    /// Takes stored tasks that have no holder, or whose holder's leases have expired.
    ///
    /// - Returns: The leases taken, at most `limit`, ordered by task.
    /// - Throws: `StoreError.expelled`.
    func claimAvailable(by node: NodeID, limit: Int, for duration: Duration) async throws(StoreError) -> [Lease]
    /// Renews every lease of a node.
    ///
    /// - Throws: `StoreError.expelled`.
    func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal
    /// Gives a task back. Has no effect if the lease is no longer current.
    func release(_ lease: Lease) async throws(StoreError)
    /// Returns the leases of a node, ordered by task.
    func leases(of node: NodeID) async throws(StoreError) -> [Lease]
    /// Returns the stored tasks that a node holds, ordered by identifier.
    func owned(by node: NodeID) async throws(StoreError) -> [Versioned<TaskMachine>]
    /// Removes a node that is known to be dead. Its leases become free at once, and late writes of the node are
    /// refused.
    func expel(_ node: NodeID) async throws(StoreError)
}

extension LeaseStore {
    /// Registers a node whose site is not compared with those of others.
    ///
    /// - Returns: A node that did not exist before.
    public func register(_ name: String, for duration: Duration) async throws(StoreError) -> NodeID {
        try await register(name, at: nil, for: duration)
    }
}
