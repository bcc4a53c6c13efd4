import Hummingbird
import RoomService

/// `/v1/nodes` and `/v1/node/drain`: the nodes of the cluster, and their draining.
package struct NodeController: Sendable {
    let roster: NodeRoster
    /// This node; `nil` without a cluster.
    let node: ClusterNode?
    let registry: RoomRegistry

    package init(roster: NodeRoster, node: ClusterNode?, registry: RoomRegistry) {
        self.roster = roster
        self.node = node
        self.registry = registry
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/nodes", use: list)
        router.delete("v1/nodes/{node}", use: expel)
        router.post("v1/node/drain", use: drain)
        router.delete("v1/node/drain", use: endDrain)
    }

    private struct Nodes: Encodable {
        var nodes: [NodeRoster.Shown]
    }

    private struct Drained: Encodable {
        var moved: Int
        var left: Int
        var kept: [ClusterNode.Drained.Kept]?
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        jsonResponse(Nodes(nodes: try await roster.nodes()))
    }

    @Sendable private func expel(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await roster.expel(try context.identifier("node"))
        return Response(status: .noContent)
    }

    /// Without a cluster, there is no node to move rooms to.
    @Sendable private func drain(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let drained = try await node?.drain() ?? ClusterNode.Drained()
        return jsonResponse(
            Drained(
                moved: drained.moved, left: node?.rooms.count ?? registry.ownerCount,
                kept: drained.kept.isEmpty ? nil : drained.kept))
    }

    @Sendable private func endDrain(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await node?.endDrain()
        return Response(status: .noContent)
    }
}
