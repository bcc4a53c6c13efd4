import Foundation
import NIOCore
import TaskStore

/// Orders from one node to another, which only nodes can give.
extension NodeExchange {
    /// Path to which nodes send their orders during moves.
    package static let movesPath = "/v1/node/moves"
    /// Path to which nodes send the events of their ingests' streams.
    package static let streamsPath = "/v1/node/streams"
    /// Path to which nodes send their orders about channels.
    package static let channelsPath = "/v1/node/channels"
    /// Paths that only nodes may use.
    package static let orderPaths: Set<String> = [movesPath, streamsPath, channelsPath]
    /// Header with the receiver's secret, which only nodes know.
    package static let keyHeader = "Mixorchestrator-Node-Key"
    /// Header of a request for a program whose viewers were admitted by another node: its name (`RemotePrograms.ownName`).
    package static let carriedHeader = "Mixorchestrator-Carried"
    /// Longest answer that is read, in bytes.
    static let longestAnswer = 1 << 16

    /// The answer to an order.
    struct OrderAnswer: Sendable {
        var status: Int
        var body: ByteBuffer

        /// Whether the node runs a release that does not support such orders.
        var isUnknown: Bool { status == 404 || status == 405 }

        /// Decodes the answer of a node that supports such orders; `nil` otherwise.
        func read<Told: Decodable>(_ type: Told.Type) -> Told? {
            guard 200..<300 ~= status else { return nil }
            return try? JSONDecoder().decode(type, from: Data(body.readableBytesView))
        }
    }

    /// Sends an order to a node and returns its answer.
    ///
    /// - Parameter longest: Longest answer that is read, in bytes.
    /// - Throws: `OrchestratorError` if the node does not answer within `limit`.
    func post(
        _ order: some Encodable & Sendable, to path: String, of node: NodeProfile, within limit: Duration,
        upTo longest: Int = NodeExchange.longestAnswer
    ) async throws(OrchestratorError) -> OrderAnswer {
        try await withTaskGroup(of: Result<OrderAnswer, OrchestratorError>.self) { group in
            group.addTask { await self.ask(order, path, node, longest) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return .failure(.silent(node, "within \(limit)"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.silent(node, "at all"))
        }.get()
    }

    private func ask(
        _ order: some Encodable & Sendable, _ path: String, _ node: NodeProfile, _ longest: Int
    ) async -> Result<OrderAnswer, OrchestratorError> {
        do {
            let body = ByteBuffer(bytes: try JSONEncoder().encode(order))
            let headers = [(name: Self.keyHeader, value: node.key), (name: "Content-Type", value: "application/json")]
            let answer = try await pass(Passed(method: "POST", target: path, headers: headers, body: body), to: node)
            return .success(
                OrderAnswer(status: answer.status, body: try await answer.collect(upTo: longest)))
        } catch let error as OrchestratorError {
            return .failure(error)
        } catch {
            return .failure(.silent(node, "as expected: \(error)"))
        }
    }
}

extension OrchestratorError {
    fileprivate static func silent(_ node: NodeProfile, _ how: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "node-unreachable", "The node that has the room does not answer",
            detail: "the node \(node.name) does not answer \(how)", retryAfter: 2)
    }
}
