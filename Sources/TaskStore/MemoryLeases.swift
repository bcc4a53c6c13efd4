import MixModel

/// An implementation of `LeaseStore` in memory.
struct MemoryLeases {
    private(set) var nodes: [(node: Node, site: String?, until: Double)] = []
    private var registered = 0
    private var holders: [TaskID: (owner: NodeID?, epoch: Int64)] = [:]
    private var profiles: [NodeID: NodeProfile] = [:]
    /// Highest epoch of all forgotten leases.
    private var forgotten: Int64 = 0
    /// Owner of rooms whose node was expelled.
    private static let nobody: NodeID = "#0"

    mutating func register(
        _ name: String, at site: String?, time: Double, until: Double
    ) throws(StoreError) -> NodeID {
        for other in nodes where other.node.name == name && other.until > time && Self.differ(other.site, site) {
            throw .copied(name)
        }
        registered += 1
        let node = Node(id: NodeID("\(name)#\(registered)"), name: name)
        nodes.append((node, site, until))
        return node.id
    }

    /// Returns whether both sites are known, and are not the same.
    private static func differ(_ one: String?, _ other: String?) -> Bool {
        guard let one, let other else { return false }
        return one != other
    }

    func holds(_ requirement: StoreChange.Requirement) -> Bool {
        guard let holder = holders[requirement.task] else { return false }
        return holder.owner == requirement.fence.owner && holder.epoch == requirement.fence.epoch
    }

    mutating func renew(_ node: NodeID, at time: Double, until: Double) throws(StoreError) -> Renewal {
        guard let index = nodes.firstIndex(where: { $0.node.id == node }) else { throw .expelled(node) }
        defer { nodes[index].until = until }
        return nodes[index].until > time ? .kept : .lapsed
    }

    /// Moves the expiry of leases with a clock that was set back, so that no lease is extended.
    mutating func clockWasSetBack(by step: Double, to time: Double) {
        for index in nodes.indices where nodes[index].until > time {
            nodes[index].until = max(nodes[index].until - step, time)
        }
    }

    func isFree(_ task: TaskID, at time: Double) -> Bool {
        guard let owner = holders[task]?.owner else { return true }
        return !nodes.contains { $0.node.id == owner && $0.until > time }
    }

    mutating func claim(_ tasks: [TaskID], by node: NodeID, at time: Double) -> [Lease] {
        tasks.compactMap { task in
            if isFree(task, at: time) { holders[task] = (node, (holders[task]?.epoch ?? forgotten) + 1) }
            guard let holder = holders[task], holder.owner == node else { return nil }
            return Lease(task: task, fence: Fence(owner: node, epoch: holder.epoch))
        }
    }

    mutating func release(_ lease: Lease) {
        guard holds(.init(task: lease.task, fence: lease.fence)) else { return }
        holders[lease.task]?.owner = nil
    }

    func leases(of node: NodeID) -> [Lease] {
        holders.filter { $0.value.owner == node }
            .map { Lease(task: $0.key, fence: Fence(owner: node, epoch: $0.value.epoch)) }
            .sorted { $0.task < $1.task }
    }

    mutating func expel(_ node: NodeID) {
        nodes.removeAll { $0.node.id == node }
        profiles[node] = nil
        for (task, holder) in holders where holder.owner == node {
            holders[task]?.owner = task.leasedRoom == nil ? nil : Self.nobody
        }
    }

    mutating func forget(_ task: TaskID) { holders[task] = nil }

    /// Forgets leases of rooms without a node.
    mutating func forget(except busy: Set<RoomID>, limit: Int) -> Int {
        let gone = holders.filter { task, holder in
            guard let room = task.leasedRoom else { return false }
            return holder.owner == nil && !busy.contains(room)
        }.prefix(limit)
        for (task, holder) in gone {
            forgotten = max(forgotten, holder.epoch)
            holders[task] = nil
        }
        return gone.count
    }
}

// MARK: - Clusters

extension MemoryLeases {
    mutating func announce(_ node: NodeID, _ profile: NodeProfile) throws(StoreError) {
        guard nodes.contains(where: { $0.node.id == node }) else { throw .expelled(node) }
        profiles[node] = profile
    }

    func roster(at time: Double) -> [NodeEntry] {
        nodes.map {
            NodeEntry(node: $0.node, profile: profiles[$0.node.id], isAtWork: $0.until > time, site: $0.site)
        }
    }

    func holder(of task: TaskID, at time: Double) -> NodeID? { isFree(task, at: time) ? nil : holders[task]?.owner }

    /// Rooms whose node is gone.
    func orphans(at time: Double) -> [RoomID] {
        holders.compactMap { task, holder in
            holder.owner != nil && isFree(task, at: time) ? task.leasedRoom : nil
        }
    }

    mutating func dismiss(_ leases: [Lease], areWanted: Bool) {
        for lease in leases where holds(.init(task: lease.task, fence: lease.fence)) {
            holders[lease.task]?.owner = areWanted ? Self.nobody : nil
        }
    }

    mutating func pass(_ lease: Lease, to receiver: NodeID, at time: Double) -> PassOutcome {
        guard holds(.init(task: lease.task, fence: lease.fence)) else { return .notHeld }
        guard receiver == lease.fence.owner || nodes.contains(where: { $0.node.id == receiver && $0.until > time })
        else { return .receiverGone }
        holders[lease.task] = (receiver, lease.fence.epoch + 1)
        return .passed(Lease(task: lease.task, fence: Fence(owner: receiver, epoch: lease.fence.epoch + 1)))
    }

    mutating func inherit(from earlier: NodeID, by node: NodeID, at time: Double) throws(StoreError) {
        guard let heir = nodes.first(where: { $0.node.id == node }) else { throw .expelled(node) }
        for other in nodes where other.node.id == earlier && other.until > time && Self.differ(other.site, heir.site) {
            throw .copied(other.node.name)
        }
        for (task, holder) in holders where holder.owner == earlier { holders[task] = (node, holder.epoch + 1) }
        expel(earlier)
    }
}
