import EncodedMedia
import Foundation
import MixModel
import TaskStore

/// The choice of the node that takes a room.
extension ClusterNode {
    /// Sets the load that the node announces to the others. Call before `run`.
    package func attach(_ load: MachineLoad) { self.load.withLock { $0 = load } }

    /// Sets the checks that decide whether the node takes rooms. Call before `run`.
    package func attach(_ health: NodeHealth) { self.health.withLock { $0 = health } }

    /// The node's public description of itself.
    var profile: NodeProfile {
        let (isDraining, rooms) = machine.withLock { ($0.isDraining, $0.holdings.count) }
        return NodeProfile(
            name: settings.name, url: settings.url, key: key, isDraining: isDraining, rooms: rooms,
            capacity: settings.capacity, ingest: settings.ingest?.text, region: settings.region,
            cores: load.withLock { $0 }?.nodeCores, trouble: trouble.withLock { $0 },
            publicURL: settings.publicURL)
    }

    /// Whether new rooms should go to another node: this one is not well, or has no cores for a mix of two, and another
    /// one is better off. If none is, this one takes them nevertheless.
    var yieldsRooms: Bool {
        let others = self.others
        if trouble.withLock({ $0 }) != nil, others.contains(where: \.takesRooms) { return true }
        return Placement.isCrowded(load.withLock { $0 }?.nodeCores, among: others)
    }

    /// The other nodes that take rooms, the best one for this room first.
    ///
    /// - Parameter wary: Nodes that have refused a room lately.
    func receivers(for room: RoomID, wary: Set<NodeID> = []) async -> [NodeEntry] {
        let registry = registry.withLock { $0 }
        let sources = await registry?.sourcePlaces(of: room) ?? []
        return Placement(region: settings.region, sources: sources).ranked(others, wary: wary)
    }

    /// The other node that is the best for any room; `nil` if none takes rooms.
    var bestOther: NodeProfile? { Placement(region: settings.region).ranked(others).first?.profile }

    /// Checks whether the node may take rooms.
    func lookAtHealth() async {
        guard let health = health.withLock({ $0 }) else { return }
        let found = await health.trouble(base)
        let before = trouble.withLock { trouble in
            defer { trouble = found }
            return trouble
        }
        guard found != before else { return }
        if let found {
            logger.error("the node leaves new rooms to others: \(found)")
        } else {
            logger.notice("the node takes rooms again")
        }
    }
}

extension RoomRegistry {
    /// Hosts and ports from which a room's participants are pulled, such as `10.0.0.1:1935`; empty for a room that is
    /// not in memory.
    func sourcePlaces(of room: RoomID) async -> Set<String> {
        guard let owner = ownerInMemory(room) else { return [] }
        let urls = await owner.snapshot.tasks.flatMap { $0.machine.document.plan?.sources.map(\.url) ?? [] }
        return Set(
            urls.compactMap { url in
                guard let parts = URLComponents(string: url), let host = parts.host else { return nil }
                let name = host.trimmingCharacters(in: ["[", "]"])
                return IngestPlace(host: name, port: parts.port ?? 1935).text
            })
    }
}
