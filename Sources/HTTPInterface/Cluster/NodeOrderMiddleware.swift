import Foundation
import HTTPTypes
import Hummingbird
import RoomService

/// Handles requests from other nodes: those during moves of rooms, reports of their ingests about streams, and requests
/// about channels. Only nodes know the node's key; without a key, the paths do not exist.
package struct NodeOrderMiddleware: RouterMiddleware {
    let node: ClusterNode
    /// Channels of the rooms; `nil` if they are switched off.
    let channels: RoomChannels?

    /// Longest request, in bytes: during a move, it contains the tasks of a room or the history of its channel.
    private static let longestOrder = 1 << 20

    package init(node: ClusterNode, channels: RoomChannels?) {
        self.node = node
        self.channels = channels
    }

    package func handle(
        _ request: Request, context: OrchestratorContext,
        next: (Request, OrchestratorContext) async throws -> Response
    ) async throws -> Response {
        guard request.method == .post, NodeExchange.orderPaths.contains(request.uri.path),
            let key = request.headers[NodeHeader.key]
        else { return try await next(request, context) }
        // The node has restarted since the sender read its key.
        guard key == node.key else { return Response(status: .forbidden) }
        let body = Data(try await request.body.collect(upTo: Self.longestOrder).readableBytesView)
        let decoder = JSONDecoder()
        switch request.uri.path {
        case NodeExchange.movesPath:
            guard let order = try? decoder.decode(MoveOrder.self, from: body) else { return Self.unreadable }
            return jsonResponse(await node.answer(order))
        case NodeExchange.streamsPath:
            guard let order = try? decoder.decode(StreamOrder.self, from: body) else { return Self.unreadable }
            return jsonResponse(await node.answer(order))
        default:
            guard let order = try? decoder.decode(ChannelOrder.self, from: body) else { return Self.unreadable }
            guard let channels else { return Response(status: .notFound) }
            return jsonResponse(await channels.answer(order))
        }
    }

    private static var unreadable: Response { Response(status: .badRequest) }
}
