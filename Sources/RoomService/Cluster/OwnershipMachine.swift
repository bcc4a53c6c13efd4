import MixModel
import TaskStore

/// Tracks the rooms of a cluster that a node has, and until when. Pure: the owner asks the store and reports its
/// answers.
///
/// Points in time are ns of CLOCK_BOOTTIME, read before the store was asked, so that the node never trusts its leases
/// for longer than the store does.
struct OwnershipMachine: Sendable {
    /// A room that this node has.
    struct Holding: Hashable, Sendable {
        var fence: Fence
        /// Time until which no other node can take the room.
        var until: Int64
        /// Time at which the room was last used.
        var usedAt: Int64
        /// Whether the room is on its way to another node.
        var isLeaving = false
    }

    /// Identifier of this life of the node. It changes after the node was expelled.
    private(set) var node: NodeID
    private(set) var holdings: [RoomID: Holding] = [:]
    private(set) var isDraining = false
    /// Rooms for which the store is being asked, with the number of requests that wait for its answers.
    private var wanted: [RoomID: Int] = [:]
    /// Number of places reserved for rooms without a node for which the store is being asked.
    private var reserved = 0
    /// Leases that the store lists for the node, but of which the node does not know.
    private var strays: Set<Lease> = []
    /// Leases that the node passed on before they expired, each with a time not earlier than that of any question whose
    /// answer may still list it: such an answer comes too late.
    private var givenUp: [RoomID: (epoch: Int64, at: Int64)] = [:]
    /// Length of the leases in ns.
    let lease: Int64
    /// Maximum number of rooms; `nil` = no limit.
    let capacity: Int?

    /// Part of a lease that is not used, in ns: clocks differ in rate, and a process needs time to stop.
    static func margin(of lease: Int64) -> Int64 { max(lease / 8, 500_000_000) }
    /// Time for which an unused room is kept, in ns.
    static let leisure: Int64 = 30_000_000_000
    /// Maximum number of rooms taken at once, so that the nodes share the rooms of a lost one.
    static let mostAtOnce = 8
    /// Maximum number of rooms taken at once while another node has fewer rooms.
    static let fewAtOnce = 2

    init(node: NodeID, lease: Int64, capacity: Int? = nil) {
        self.node = node
        self.lease = lease
        self.capacity = capacity
    }

    private func end(from time: Int64) -> Int64 { time + lease - Self.margin(of: lease) }

    // MARK: Leases

    /// Records leases that the store granted.
    mutating func took(_ leases: [Lease], askedAt time: Int64) {
        for lease in leases where lease.fence.owner == node {
            guard let room = lease.task.leasedRoom else { continue }
            let known = holdings[room]
            guard lease.fence.epoch >= known?.fence.epoch ?? 0, lease.fence.epoch > givenUp[room]?.epoch ?? .min else {
                continue
            }
            holdings[room] = Holding(
                fence: lease.fence, until: max(end(from: time), known?.until ?? .min),
                usedAt: max(time, known?.usedAt ?? time), isLeaving: known?.isLeaving ?? false)
        }
    }

    /// Records a renewal and the leases that were listed after it. Only listed leases count: a lease may have expired
    /// and been taken by another node without notice, and any claim brings the node back to life.
    ///
    /// - Parameters:
    ///   - before: The holdings before the store was asked; rooms that were taken since then are not judged.
    ///   - time: The time before the renewal was requested.
    /// - Returns: Rooms that another node has taken.
    mutating func renewed(_ held: [Lease], among before: [RoomID: Holding], askedAt time: Int64) -> Set<RoomID> {
        let kept = Dictionary(held.compactMap { lease in lease.task.leasedRoom.map { ($0, lease.fence) } }) { $1 }
        for (room, fence) in kept where holdings[room]?.fence == fence {
            let later = max(holdings[room]?.until ?? .min, end(from: time))
            holdings[room]?.until = later
        }
        var lost: Set<RoomID> = []
        for (room, holding) in before
        where kept[room] != holding.fence && holdings[room]?.fence == holding.fence {
            // A move that could not be confirmed takes the room back under a new epoch, and will report it shortly.
            if let present = holdings[room], present.isLeaving, kept[room]?.owner == present.fence.owner { continue }
            holdings[room] = nil
            lost.insert(room)
        }
        return lost
    }

    /// Returns leases that the node has without knowing it, because an answer was lost. Only leases that were found
    /// twice in a row are returned, because the answer may still be under way. They must be passed to other nodes.
    ///
    /// - Parameter time: The time before the store was asked for them.
    mutating func strays(among held: [Lease], askedAt time: Int64) -> [Lease] {
        // No pending answer is as old as a lease.
        givenUp = givenUp.filter { time - $0.value.at < lease }
        let unknown = held.filter { lease in lease.task.leasedRoom.map { holdings[$0] == nil } ?? false }
        let known = strays
        strays = Set(unknown).subtracting(known)
        let lost = unknown.filter(known.contains)
        for lease in lost {
            if let room = lease.task.leasedRoom { givenUp[room] = (lease.fence.epoch, time) }
        }
        return lost
    }

    /// Records that the store refused a write because of this fence.
    ///
    /// - Returns: Whether the room was this node's until now.
    mutating func fenced(_ room: RoomID, _ fence: Fence) -> Bool {
        guard holdings[room]?.fence == fence else { return false }
        holdings[room] = nil
        return true
    }

    /// Begins another life, because the node was expelled.
    ///
    /// - Returns: The rooms that it had.
    mutating func reborn(as node: NodeID) -> Set<RoomID> {
        defer { (holdings, givenUp) = ([:], [:]) }
        self.node = node
        return Set(holdings.keys)
    }

    /// Ends the node's life without another one, because its place in the cluster is taken.
    ///
    /// - Returns: The rooms that it had.
    mutating func loseAll() -> Set<RoomID> { reborn(as: node) }

    // MARK: Rooms

    /// Returns whether the node has the room and may decide about it, and records its use.
    mutating func use(_ room: RoomID, at time: Int64) -> Bool {
        guard let holding = holdings[room], !holding.isLeaving else { return false }
        holdings[room]?.usedAt = time
        return true
    }

    /// Returns the time until which the room's relays may send. It is in the past for a room of another node.
    func deadline(of room: RoomID) -> Int64 { holdings[room]?.until ?? 0 }

    func isLeaving(_ room: RoomID) -> Bool { holdings[room]?.isLeaving ?? false }

    /// Number of further rooms that the node has a place for. Rooms for which the store is being asked have one.
    private var places: Int {
        guard let capacity else { return .max }
        return capacity - holdings.count - wanted.keys.count { holdings[$0] == nil } - reserved
    }

    /// Whether places are reserved, of which some may soon be free.
    var isTaking: Bool { reserved > 0 }

    /// Whether the node takes further rooms.
    var takesRooms: Bool { !isDraining && places > 0 }

    /// Begins to ask the store for a room. `endRequest` must follow.
    ///
    /// - Returns: False if the node does not take the room.
    mutating func beginRequest(for room: RoomID) -> Bool {
        guard takesRooms || !isDraining && wanted[room] != nil else { return false }
        wanted[room, default: 0] += 1
        return true
    }

    mutating func endRequest(for room: RoomID) { wanted[room] = wanted[room].flatMap { $0 > 1 ? $0 - 1 : nil } }

    /// Returns the number of waiting rooms to take now, so that nodes with fewer rooms get more of them.
    ///
    /// - Parameter others: The other nodes of the cluster.
    func share(among others: [NodeEntry]) -> Int {
        guard takesRooms else { return 0 }
        let isLightest = !others.contains { entry in
            entry.takesRooms && entry.profile.map { $0.rooms < holdings.count } ?? false
        }
        return min(isLightest ? Self.mostAtOnce : Self.fewAtOnce, places)
    }

    /// Begins to ask the store for waiting rooms, and reserves places for them. `endTaking` must follow.
    ///
    /// - Returns: The number of rooms to take, as `share`.
    mutating func beginTaking(among others: [NodeEntry]) -> Int {
        let share = self.share(among: others)
        reserved += share
        return share
    }

    mutating func endTaking(_ share: Int) { reserved -= share }

    /// Removes the rooms that have not been used lately.
    ///
    /// - Parameter busy: Rooms that are kept in any case.
    /// - Returns: The leases to give back.
    mutating func dropIdle(except busy: Set<RoomID>, at time: Int64) -> [Lease] {
        let idle = holdings.filter { room, holding in
            time - holding.usedAt > Self.leisure && !busy.contains(room) && !holding.isLeaving
        }
        for (room, holding) in idle {
            holdings[room] = nil
            givenUp[room] = (holding.fence.epoch, time)
        }
        return idle.map { Lease(task: .lease(of: $0.key), fence: $0.value.fence) }
    }

    // MARK: Moving

    /// Starts or stops draining. A draining node takes no rooms.
    mutating func drain(_ isDraining: Bool) { self.isDraining = isDraining }

    /// Begins the move of a room to another node. Until `left`, the room takes no requests here.
    ///
    /// - Returns: False if the node does not have the room, or it is already leaving.
    mutating func leave(_ room: RoomID) -> Bool {
        guard let holding = holdings[room], !holding.isLeaving else { return false }
        holdings[room]?.isLeaving = true
        return true
    }

    /// Ends the move of a room that stays.
    ///
    /// - Returns: False if the room was lost in the meantime.
    mutating func stay(_ room: RoomID) -> Bool {
        guard holdings[room] != nil else { return false }
        holdings[room]?.isLeaving = false
        return true
    }

    /// Records that a leaving room was taken back under another epoch, which does not renew its lease.
    mutating func reclaimed(_ lease: Lease) {
        guard lease.fence.owner == node, let room = lease.task.leasedRoom, holdings[room]?.isLeaving == true else {
            return
        }
        holdings[room]?.fence = lease.fence
    }

    /// The lease of a room; `nil` for a room of another node.
    func lease(of room: RoomID) -> Lease? {
        holdings[room].map { Lease(task: .lease(of: room), fence: $0.fence) }
    }

    /// Records that everything of the room has stopped here.
    ///
    /// - Returns: The lease to pass on; `nil` if it was lost in the meantime.
    mutating func left(_ room: RoomID) -> Lease? {
        guard let holding = holdings[room], holding.isLeaving else { return nil }
        holdings[room] = nil
        givenUp[room] = (holding.fence.epoch, holding.until)
        return Lease(task: .lease(of: room), fence: holding.fence)
    }
}
