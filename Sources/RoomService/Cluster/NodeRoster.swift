import MixModel
import TaskStore
import TextFormats

/// The list of the cluster's nodes for operators.
package struct NodeRoster: Sendable {
    private let store: any TaskStore
    /// This node; `nil` if the service is not in a cluster.
    private let node: ClusterNode?

    package init(store: any TaskStore, node: ClusterNode?) {
        self.store = store
        self.node = node
    }

    /// A node as operators see it.
    package struct Shown: Encodable, Sendable {
        package var name: String
        package var url: String
        /// Address at which viewers reach it.
        package var publicURL: String?
        /// `atWork`, `draining` or `gone`.
        package var state: String
        package var rooms: Int
        package var maxRooms: Int?
        package var region: String?
        /// Cores that programs may use, and those of them that are free.
        package var cores: NodeCores?
        /// The reason why it leaves rooms to others.
        package var trouble: String?
        package var isThisNode: Bool
    }

    /// Returns the nodes, ordered by name.
    package func nodes() async throws(OrchestratorError) -> [Shown] {
        let own = node?.id
        return try await roster().compactMap { entry in
            entry.profile.map { profile in
                Shown(
                    name: profile.name, url: profile.url, publicURL: profile.publicURL,
                    state: !entry.isAtWork ? "gone" : profile.isDraining ? "draining" : "atWork",
                    rooms: profile.rooms, maxRooms: profile.capacity, region: profile.region,
                    cores: profile.cores.map(\.shown), trouble: profile.trouble, isThisNode: entry.node.id == own)
            }
        }.sorted { $0.name.precedesInUTF8($1.name) }
    }

    /// Frees the rooms of a node that is known to be dead, with all of its relays.
    ///
    /// - Throws: `OrchestratorError` if there is no such node, or it is this one.
    package func expel(_ name: String) async throws(OrchestratorError) {
        let found = try await roster().filter { $0.profile?.name.hasSameUTF8(as: name) ?? false }
        guard !found.isEmpty else {
            throw .notFound("node", name, cure: "GET /v1/nodes lists the nodes")
        }
        guard !found.contains(where: { $0.node.id == node?.id }) else {
            throw OrchestratorError(
                .conflict, "own-node", "A node cannot expel itself",
                detail: "\(name.shortened(toBytes: 200)) answers this request: stop it, or POST /v1/node/drain")
        }
        for entry in found {
            do { try await store.expel(entry.node.id) } catch { throw OrchestratorError(error) }
        }
    }

    private func roster() async throws(OrchestratorError) -> [NodeEntry] {
        do { return try await store.roster() } catch { throw OrchestratorError(error) }
    }
}

extension NodeCores {
    /// Rounded to hundredths.
    fileprivate var shown: NodeCores {
        NodeCores(total: (total * 100).rounded() / 100, free: (free * 100).rounded() / 100)
    }
}
