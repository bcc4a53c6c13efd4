import TaskStore
import TextFormats

/// Chooses nodes for a room, by what the nodes have announced. Pure.
///
/// Announcements are up to a sixth of a lease old, so a choice is a preference: a node that has no place any more
/// refuses the room, and the next one is asked.
struct Placement: Sendable {
    /// Region of the node that looks for another one; `nil` = none.
    var region: String?
    /// Hosts and ports of the room's sources, as in their URLs, such as `10.0.0.1:1935`.
    var sources: Set<String> = []

    /// Returns the nodes that have a place for a room, the best one first.
    ///
    /// Nodes that are not well come last. Of the others, those come first that have cores for a mix of two; among these, those whose ingest has most of the room's
    /// sources; then those of the same region; then those with the larger part of their cores free; then those with
    /// fewer rooms.
    ///
    /// - Parameter wary: Nodes that have refused a room lately. They come after the others that are well.
    func ranked(_ entries: [NodeEntry], wary: Set<NodeID> = []) -> [NodeEntry] {
        entries.filter(\.hasPlaces)
            .map { entry in (entry: entry, rank: rank(entry, isWary: wary.contains(entry.node.id))) }
            .sorted { $0.rank.lexicographicallyPrecedes($1.rank) }
            .map(\.entry)
    }

    /// Returns whether a node with these cores should leave new rooms to another one, because it has none for a mix of two, and
    /// another node has.
    static func isCrowded(_ cores: NodeCores?, among others: [NodeEntry]) -> Bool {
        guard let cores, !cores.areRoomy else { return false }
        return others.contains { $0.takesRooms && ($0.profile?.cores?.areRoomy ?? false) }
    }

    /// Returns figures of which smaller ones are better, the most important one first.
    private func rank(_ entry: NodeEntry, isWary: Bool) -> [Int] {
        guard let profile = entry.profile else { return [.max] }
        let isRoomy = profile.cores?.areRoomy ?? true
        let hasSources = profile.ingest.map { place in sources.contains { $0.hasSameUTF8(as: place) } } ?? false
        let isNear = region.map { region in profile.region?.hasSameUTF8(as: region) ?? false } ?? false
        // A node that says nothing about its cores counts as half used.
        let use = profile.cores.map { Int((min(1, max(0, 1 - $0.free / max($0.total, 0.01))) * 10).rounded()) } ?? 5
        return [
            profile.trouble == nil ? 0 : 1, isWary ? 1 : 0, isRoomy ? 0 : 1, hasSources ? 0 : 1, isNear ? 0 : 1, use,
            profile.rooms,
        ]
    }
}

extension NodeCores {
    /// Whether a mix of two fits.
    fileprivate var areRoomy: Bool { free >= MachineLoad.coresOfAMix }
}

extension NodeEntry {
    /// Whether the node takes rooms and is well, as far as it has announced.
    var takesRooms: Bool { hasPlaces && profile?.trouble == nil }

    /// Whether the node takes rooms, as far as it has announced.
    fileprivate var hasPlaces: Bool {
        guard isAtWork, let profile, !profile.isDraining else { return false }
        return profile.rooms < profile.capacity ?? .max
    }
}
