import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RoomService
import TaskStore

/// The part of a batch of events whose rooms other nodes have. Each of these nodes is sent the whole batch and
/// processes its own rooms, so that events are passed on exactly as received.
struct EventBatch {
    /// Numbers of events by outcome, as nodes answer.
    struct Counts: Codable {
        var accepted = 0
        var duplicate = 0
        var stale = 0
        var notes: [String]?
    }

    let exchange: NodeExchange
    let request: Request
    let body: [UInt8]
    let context: OrchestratorContext

    /// Not every event was taken, because a room has moved while the batch was sent to its node.
    static let incomplete = OrchestratorError(
        .unavailable, "room-moving", "A room is on its way to another node",
        detail: "not all events of the batch are stored: send the batch again, stored events are not stored twice",
        retryAfter: 1)

    /// Longest answer that is read, in bytes.
    private static let longestAnswer = 1 << 16

    /// Sends the batch to a node, which processes its own rooms.
    func send(to node: NodeProfile) async throws -> Counts {
        let headers =
            NodeHeader.headers(of: request, context, to: node) + [(name: NodeHeader.share.rawName, value: "1")]
        let answer = try await exchange.pass(
            NodeExchange.Passed(
                method: request.method.rawValue, target: request.head.path ?? "/", headers: headers,
                body: ByteBuffer(bytes: body)), to: node)
        let bytes = try await answer.collect(upTo: Self.longestAnswer)
        guard 200..<300 ~= answer.status,
            let counts = try? JSONDecoder().decode(Counts.self, from: Data(bytes.readableBytesView))
        else {
            throw OrchestratorError(
                .unavailable, "node-refused", "Another node refuses the events of its rooms",
                detail: "the node \(node.name) answered \(answer.status): send the batch again, stored events are "
                    + "not stored twice", retryAfter: 1)
        }
        return counts
    }
}
