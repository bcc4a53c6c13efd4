import Foundation
import HTTPTypes
import Hummingbird
import RoomService

/// Takes the orders of other nodes during moves of rooms. Nobody else knows the node's key; without one, the path is not there.
package struct MoveMiddleware: RouterMiddleware {
    let node: ClusterNode

    /// Longest order, in bytes: it names the tasks of a room.
    private static let longestOrder = 1 << 20

    package init(node: ClusterNode) { self.node = node }

    package func handle(
        _ request: Request, context: OrchestratorContext,
        next: (Request, OrchestratorContext) async throws -> Response
    ) async throws -> Response {
        guard request.method == .post, request.uri.path == NodeExchange.movesPath,
            let key = request.headers[NodeHeader.key]
        else { return try await next(request, context) }
        // A node that has begun another life since the sender has read its key.
        guard key == node.key else { return Response(status: .forbidden) }
        let body = try await request.body.collect(upTo: Self.longestOrder)
        guard let order = try? JSONDecoder().decode(MoveOrder.self, from: Data(body.readableBytesView)) else {
            return Response(status: .badRequest)
        }
        return jsonResponse(await node.answer(order))
    }
}
