import Foundation
import MixModel
import TextFormats

/// What a node tells the other nodes of a cluster about itself.
public struct NodeProfile: Hashable, Codable, Sendable {
    /// Name of the node for people, unique in the cluster and the same in all of its lives.
    public var name: String
    /// Address at which the other nodes reach its HTTP interface, such as `http://10.0.0.1:8080`.
    public var url: String
    /// Secret of this life, which the other nodes show with the requests that they pass on. Only who can read the store
    /// knows it.
    public var key: String
    /// Whether it takes no more rooms, because it is about to stop.
    public var isDraining: Bool
    /// Number of rooms that it had when it last told.
    public var rooms: Int
    /// Most rooms that it takes; `nil` = no limit.
    public var capacity: Int?
    /// Host and port at which the other nodes reach its RTMP ingest, such as `10.0.0.1:1935`; `nil` = they do not, or the
    /// node is of an earlier release.
    public var ingest: String?

    public init(
        name: String, url: String, key: String, isDraining: Bool = false, rooms: Int = 0, capacity: Int? = nil,
        ingest: String? = nil
    ) {
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
    /// Returns the text that SQL stores keep.
    package func storedText() throws(StoreError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
        } catch {
            throw .engine("the node \(name) cannot be described: \(error)")
        }
    }

    /// Reads the text of a store; `nil` for one that a later release wrote in another form.
    package init?(storedText text: String) {
        guard let profile = try? JSONDecoder().decode(NodeProfile.self, from: Data(text.utf8)) else { return nil }
        self = profile
    }
}

/// A node that was not expelled, as the store knows it.
public struct NodeEntry: Hashable, Sendable {
    public var node: Node
    /// `nil` for a node that takes part in no cluster.
    public var profile: NodeProfile?
    /// Whether its leases have not run out, as judged by the store's clock.
    public var isAtWork: Bool

    public init(node: Node, profile: NodeProfile?, isAtWork: Bool) {
        self.node = node
        self.profile = profile
        self.isAtWork = isAtWork
    }
}

extension TaskID {
    /// Beginning of `lease(of:)`. No task has such an id, because names contain no `/`.
    package static let roomLeasePrefix = "//"

    /// Id under which the highest epoch of the leases is kept that were forgotten. It is no room's.
    package static let forgottenLeases = TaskID(roomLeasePrefix)

    /// Returns the id under which the lease of a whole room is kept, beside those of tasks.
    public static func lease(of room: RoomID) -> TaskID { TaskID(roomLeasePrefix + room.rawValue) }

    /// The room, if this is the id of a room's lease.
    public var leasedRoom: RoomID? {
        guard rawValue.startsInUTF8(with: Self.roomLeasePrefix), self != Self.forgottenLeases else { return nil }
        return RoomID(String(decoding: rawValue.utf8.dropFirst(Self.roomLeasePrefix.utf8.count), as: UTF8.self))
    }
}

/// The outcome of an attempt to give a room's lease to a node.
public enum PassOutcome: Hashable, Sendable {
    /// The receiver has the lease, under a new epoch.
    case passed(Lease)
    /// Nothing has changed: the receiver was expelled, or its leases have run out.
    case receiverGone
    /// Nothing has changed: the lease is no longer the current one.
    case notHeld
}

/// The rooms of a cluster, shared out among its nodes by leases.
///
/// A room's lease is one of `LeaseStore`, named by `TaskID.lease(of:)`. The leases of an expelled node stay noted as
/// orphaned until another node takes them, so that no room is forgotten.
public protocol ClusterStore: LeaseStore {
    /// Notes what a node tells about itself.
    ///
    /// - Throws: `StoreError.expelled`.
    func announce(_ node: NodeID, _ profile: NodeProfile) async throws(StoreError)
    /// Returns every node that was not expelled, in the order of registration.
    func roster() async throws(StoreError) -> [NodeEntry]
    /// Returns the node that holds a room and whose leases have not run out.
    func holder(of room: RoomID) async throws(StoreError) -> NodeID?
    /// Takes rooms that need a node and have none: those with a task that has or wants a relay, those of one of `lives`,
    /// and those whose node is gone.
    ///
    /// - Returns: The leases taken, at most `limit`, ordered by room. Rooms that another node is just taking are left out.
    /// - Throws: `StoreError.expelled`.
    func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease]
    /// Gives rooms back. Leases that are no longer current are left alone. Epochs go on, so that no later lease is taken for one
    /// of these.
    ///
    /// - Parameter areWanted: Whether other nodes are to take the rooms, which need a node, at once.
    func dismiss(_ leases: [Lease], areWanted: Bool) async throws(StoreError)
    /// Gives a room's lease to a node under a new epoch. No other node can come in between. A node that passes a lease to itself
    /// makes sure that an earlier call, whose answer was lost, has no effect any more.
    func pass(_ lease: Lease, to receiver: NodeID) async throws(StoreError) -> PassOutcome
    /// Forgets leases of rooms that are not stored, have no task and no node, and that no node is wanted for. Leases that are made
    /// later have higher epochs than all that were forgotten.
    ///
    /// - Returns: The number of leases forgotten, at most `limit`.
    @discardableResult
    func forgetLeases(limit: Int) async throws(StoreError) -> Int
    /// Takes over all leases of an earlier life of the same node, which is dead, and expels it. No other node can come in
    /// between.
    ///
    /// - Returns: The leases of `node`, ordered by task.
    /// - Throws: `StoreError.expelled` if `node` was expelled.
    func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease]
    /// Returns what other nodes tell from now on. The stream ends with the store; of hints that nobody takes, the oldest
    /// are dropped.
    func hints() -> AsyncStream<StoreHint>
}
