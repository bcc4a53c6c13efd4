import Foundation
import MixModel
import TextFormats

/// The cores of a node that programs may use.
public struct NodeCores: Hashable, Codable, Sendable {
    /// Cores that programs may use in total, > 0.
    public var total: Double
    /// Cores that further programs may use, ≥ 0.
    public var free: Double

    public init(total: Double, free: Double) {
        self.total = total
        self.free = free
    }
}

/// A node's description of itself for the other nodes of a cluster.
public struct NodeProfile: Hashable, Codable, Sendable {
    /// Name of the node for display, unique in the cluster and the same in all of its lives.
    public var name: String
    /// Address at which the other nodes reach its HTTP interface, such as `http://10.0.0.1:8080`.
    public var url: String
    /// Secret of this life, which the other nodes present with the requests that they pass on. Only programs that can
    /// read the store know it.
    public var key: String
    /// Whether the node takes no more rooms, because it is about to stop.
    public var isDraining: Bool
    /// Number of its rooms at its last report.
    public var rooms: Int
    /// Maximum number of rooms that it takes; `nil` = no limit.
    public var capacity: Int?
    /// Host and port at which the other nodes reach its RTMP ingest, such as `10.0.0.1:1935`; `nil` = they cannot reach
    /// it, or the node runs an earlier release.
    public var ingest: String?
    /// Label of the place where the node is, such as `eu-west`; `nil` = none.
    public var region: String?
    /// Its cores at its last report; `nil` = no limit, or the node runs an earlier release.
    public var cores: NodeCores?
    /// The reason why it takes no rooms although it is at work, such as a disk that fails; `nil` = none.
    public var trouble: String?
    /// Address at which viewers reach this node alone, such as `https://a.mix.example`, without a slash at the end; `nil` = none, or
    /// the node runs an earlier release.
    public var publicURL: String?

    public init(
        name: String, url: String, key: String, isDraining: Bool = false, rooms: Int = 0, capacity: Int? = nil,
        ingest: String? = nil, region: String? = nil, cores: NodeCores? = nil, trouble: String? = nil,
        publicURL: String? = nil
    ) {
        self.publicURL = publicURL
        self.region = region
        self.cores = cores
        self.trouble = trouble
        self.ingest = ingest
        self.name = name
        self.url = url
        self.key = key
        self.isDraining = isDraining
        self.rooms = rooms
        self.capacity = capacity
    }
}

extension NodeProfile {
    /// Returns the text that SQL stores store.
    package func storedText() throws(StoreError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
        } catch {
            throw .engine("the node \(name) cannot be described: \(error)")
        }
    }

    /// Parses the text of a store; `nil` for a text that a later release wrote in another form.
    package init?(storedText text: String) {
        guard let profile = try? JSONDecoder().decode(NodeProfile.self, from: Data(text.utf8)) else { return nil }
        self = profile
    }
}

/// A node that was not expelled, as known to the store.
public struct NodeEntry: Hashable, Sendable {
    public var node: Node
    /// The node's profile; `nil` for a node outside any cluster.
    public var profile: NodeProfile?
    /// Whether its leases have not expired, as judged by the store's clock.
    public var isAtWork: Bool
    /// The node's site, as registered; `nil` if it is not known, or the store compares none.
    public var site: String?

    public init(node: Node, profile: NodeProfile?, isAtWork: Bool, site: String? = nil) {
        self.node = node
        self.profile = profile
        self.isAtWork = isAtWork
        self.site = site
    }
}

extension TaskID {
    /// Beginning of `lease(of:)`. No task has such an identifier, because names contain no `/`.
    package static let roomLeasePrefix = "//"

    /// Identifier under which the highest epoch of all forgotten leases is kept. It belongs to no room.
    package static let forgottenLeases = TaskID(roomLeasePrefix)

    /// Returns the identifier under which the lease of a whole room is kept, beside those of tasks.
    public static func lease(of room: RoomID) -> TaskID { TaskID(roomLeasePrefix + room.rawValue) }

    /// The room, if this is the identifier of a room's lease.
    public var leasedRoom: RoomID? {
        guard rawValue.startsInUTF8(with: Self.roomLeasePrefix), self != Self.forgottenLeases else { return nil }
        return RoomID(String(decoding: rawValue.utf8.dropFirst(Self.roomLeasePrefix.utf8.count), as: UTF8.self))
    }
}

/// The result of an attempt to pass a room's lease to a node.
public enum PassOutcome: Hashable, Sendable {
    /// The receiver has the lease, under a new epoch.
    case passed(Lease)
    /// Nothing has changed: the receiver was expelled, or its leases have expired.
    case receiverGone
    /// Nothing has changed: the lease is no longer the current one.
    case notHeld
}

/// The rooms of a cluster, distributed among its nodes by leases.
///
/// A room's lease is one of `LeaseStore`, named by `TaskID.lease(of:)`. The leases of an expelled node stay recorded as
/// orphaned until another node takes them, so that no room is lost.
public protocol ClusterStore: LeaseStore {
    /// Stores a node's description of itself.
    ///
    /// - Throws: `StoreError.expelled`.
    func announce(_ node: NodeID, _ profile: NodeProfile) async throws(StoreError)
    /// Returns every node that was not expelled, in the order of registration.
    func roster() async throws(StoreError) -> [NodeEntry]
    /// Returns the store's time of day, in s since 1970; `nil` for a store that has no clock but this machine's.
    func time() async throws(StoreError) -> Double?
    /// Returns the node that holds a room and whose leases have not expired.
    func holder(of room: RoomID) async throws(StoreError) -> NodeID?
    /// Takes rooms that need a node and have none: those with a task that has or wants a relay, those of one of
    /// `lives`, and those whose node is gone.
    ///
    /// - Returns: The leases taken, at most `limit`, ordered by room. Rooms that another node is just taking are left
    ///   out.
    /// - Throws: `StoreError.expelled`.
    func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease]
    /// Gives rooms back. Leases that are no longer current are left alone. Epochs continue, so that no later lease is
    /// mistaken for one of these.
    ///
    /// - Parameter areWanted: Whether the rooms need a node, so that other nodes must take them at once.
    func dismiss(_ leases: [Lease], areWanted: Bool) async throws(StoreError)
    /// Passes a room's lease to a node under a new epoch. No other node can come in between. A node that passes a lease
    /// to itself thereby ensures that an earlier call whose answer was lost can no longer take effect.
    func pass(_ lease: Lease, to receiver: NodeID) async throws(StoreError) -> PassOutcome
    /// Deletes leases of rooms that are not stored, have no task and no node, and do not need a node. Later leases have
    /// higher epochs than all deleted ones.
    ///
    /// - Returns: The number of leases deleted, at most `limit`.
    @discardableResult
    func forgetLeases(limit: Int) async throws(StoreError) -> Int
    /// Takes over all leases of an earlier life of the same node, which is dead, and expels it. No other node can come
    /// in between.
    ///
    /// - Returns: The leases of `node`, ordered by task.
    /// - Throws: `StoreError.expelled` if `node` was expelled, and `StoreError.copied` if `earlier` is at work at another
    ///   site. Nothing is changed then.
    func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease]
    /// Returns a stream of other nodes' hints from now on. The stream ends with the store; if hints are not read in
    /// time, the oldest are dropped.
    func hints() -> AsyncStream<StoreHint>
}
