import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import TaskStore

/// Passes requests on to other nodes, over connections that stay open.
package final class NodeExchange: Service {
    /// A request to be passed on.
    package struct Passed: Sendable {
        package var method: String
        /// Path and query.
        package var target: String
        package var headers: [(name: String, value: String)]
        package var body: ByteBuffer?

        package init(method: String, target: String, headers: [(name: String, value: String)], body: ByteBuffer?) {
            self.method = method
            self.target = target
            self.headers = headers
            self.body = body
        }
    }

    /// An answer whose body is read as it arrives.
    package struct Answer: Sendable {
        package var status: Int
        package var headers: [(name: String, value: String)]
        fileprivate var body: HTTPClientResponse.Body

        /// Calls `take` with each piece, and reads no faster than it returns.
        package func forEachPiece(_ take: (ByteBuffer) async throws -> Void) async throws {
            for try await piece in body { try await take(piece) }
        }

        /// Returns the whole body.
        ///
        /// - Throws: An error if the body is longer than `limit` bytes, or the connection is lost.
        package func collect(upTo limit: Int) async throws -> ByteBuffer { try await body.collect(upTo: limit) }
    }

    /// Headers that apply to one connection only.
    private static let ofConnections: Set<String> = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "expect",
        "host",
        "content-length",
    ]

    private let client: HTTPClient

    package init() {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(2)
        // Streams send data at least this often.
        configuration.timeout.read = .seconds(90)
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Each channel that is mirrored here keeps one connection busy.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    package func run() async throws {
        try? await gracefulShutdown()
        try? await client.shutdown()
    }

    /// Sends a request to a node, and returns when its answer begins.
    ///
    /// - Throws: `OrchestratorError` if the node cannot be reached.
    package func pass(_ passed: Passed, to node: NodeProfile) async throws(OrchestratorError) -> Answer {
        var request = HTTPClientRequest(url: node.url + passed.target)
        request.method = HTTPMethod(rawValue: passed.method)
        for header in passed.headers where !Self.ofConnections.contains(header.name.lowercased()) {
            request.headers.add(name: header.name, value: header.value)
        }
        if let body = passed.body, body.readableBytes > 0 { request.body = .bytes(body) }
        do {
            let response = try await client.execute(request, deadline: .distantFuture)
            return Answer(
                status: Int(response.status.code),
                headers: response.headers.filter { !Self.ofConnections.contains($0.name.lowercased()) }.map {
                    (name: $0.name, value: $0.value)
                }, body: response.body)
        } catch {
            throw OrchestratorError(
                .unavailable, "node-unreachable", "The node that has the room does not answer",
                detail:
                    "the node \(node.name) at \(node.url): \(WebhookPost.words(for: error)). If it is dead, another one "
                    + "takes its rooms when its lease has run out", retryAfter: 2)
        }
    }
}
