import HTTPTypes
import Hummingbird
import NIOCore
import RoomService
import TaskStore

/// Passes requests for another node's rooms on to that node, with the caller's authorisation and address.
///
/// Only the handler of a request knows which room it concerns. A request is therefore first tried here: a handler that
/// finds the room on another node has changed nothing, and reports it (`NodeForwarding`). The body is recorded while it
/// is read.
package struct ForwardingMiddleware: RouterMiddleware {
    let node: ClusterNode
    let exchange: NodeExchange
    /// Sends viewers to the other node; `nil` if their requests are passed on, too.
    let redirect: ViewerRedirect?

    package init(node: ClusterNode, exchange: NodeExchange, redirect: ViewerRedirect? = nil) {
        self.node = node
        self.exchange = exchange
        self.redirect = redirect
    }

    package func handle(
        _ request: Request, context: OrchestratorContext,
        next: (Request, OrchestratorContext) async throws -> Response
    ) async throws -> Response {
        var (request, context) = (request, context)
        let isForwarded = request.headers[NodeHeader.key] == node.key
        if isForwarded {
            context.passedOnFor = request.headers[NodeHeader.client]
            context.takesShare = request.headers[NodeHeader.share] != nil
            context.carrier = request.headers[NodeHeader.carried]
            // The client may have signed it.
            if let host = request.headers[NodeHeader.host] {
                var head = request.head
                head.authority = host
                request = Request(head: head, body: request.body)
            }
        }
        for number in 1...Self.mostAttempts {
            // A node to which a room was yielded may have become full: this one takes it then.
            let forwarding = NodeForwarding(isForwarded: isForwarded, mayYield: !isForwarded && number == 1)
            let isLast = number == Self.mostAttempts
            if let response = try await attempt(&request, &context, forwarding, isLast: isLast, next) {
                return response
            }
            // Its room has moved meanwhile, perhaps to this node.
            node.forgetHolders()
        }
        return Response(status: .serviceUnavailable)
    }

    /// Largest number of attempts for a request whose room moves.
    private static let mostAttempts = 3

    /// Serves the request, or passes it on.
    ///
    /// - Parameter isLast: Whether the answer is final in any case.
    /// - Returns: `nil` if the request has to be tried again.
    private func attempt(
        _ request: inout Request, _ context: inout OrchestratorContext, _ forwarding: NodeForwarding, isLast: Bool,
        _ next: (Request, OrchestratorContext) async throws -> Response
    ) async throws -> Response? {
        let record = BodyRecord(request.body)
        request.body = RequestBody(asyncSequence: record)
        let outcome: Result<Response, any Error>
        do {
            let (inner, innerContext) = (request, context)
            outcome = .success(
                try await NodeForwarding.$current.withValue(forwarding) { try await next(inner, innerContext) })
        } catch {
            outcome = .failure(error)
        }
        // A request that was served nevertheless needs no other node.
        if case .success(let response) = outcome, response.status.code < 400 { return response }
        guard let target = forwarding.target else {
            guard forwarding.isElsewhere else { return try outcome.get() }
            return Response(status: .serviceUnavailable, headers: [NodeHeader.moved: "1", .retryAfter: "1"])
        }
        if let answer = redirect?.answer(to: request, at: target) { return answer }
        if ExpectedBody.isAnnounced(by: request.head) { context.wantsBody(of: request) }
        let body = try await record.whole(upTo: BodyLimit.bytes)
        let answer = try await exchange.pass(
            NodeExchange.Passed(
                method: request.method.rawValue, target: request.head.path ?? "/",
                headers: NodeHeader.headers(of: request, context, to: target), body: body), to: target)
        let hasMoved = answer.headers.contains { $0.name.lowercased() == NodeHeader.moved.canonicalName }
        guard hasMoved else { return Self.response(answer, isHead: request.method == .head) }
        // The node that reports this has changed nothing.
        guard !isLast else { return try outcome.get() }
        request.body = RequestBody(buffer: body)
        return nil
    }

    private static func response(_ answer: NodeExchange.Answer, isHead: Bool) -> Response {
        var headers: HTTPFields = [:]
        for header in answer.headers where !["date", "server"].contains(header.name.lowercased()) {
            guard let name = HTTPField.Name(header.name) else { continue }
            headers.append(HTTPField(name: name, value: header.value))
        }
        let status = HTTPResponse.Status(code: answer.status)
        guard !isHead, status.code != 204, status.code != 304 else {
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer()))
        }
        return Response(
            status: status, headers: headers,
            body: ResponseBody { writer in
                try await answer.forEachPiece { try await writer.write($0) }
                try await writer.finish(nil)
            })
    }
}

/// The headers by which nodes recognise each other's requests.
enum NodeHeader {
    /// Proves that the sender can read the store, which contains the key.
    static let key = name(NodeExchange.keyHeader)
    /// IP address of the client.
    static let client = name("Mixorchestrator-Client")
    /// Marks a batch of which the receiver processes only its own rooms.
    static let share = name("Mixorchestrator-Share")
    /// Marks the answer to a forwarded request whose room is on yet another node.
    static let moved = name("Mixorchestrator-Moved")
    /// Names the node that asks for a program whose viewers it has admitted.
    static let carried = name(NodeExchange.carriedHeader)
    /// Host that the client has named.
    static let host = name("Mixorchestrator-Host")

    private static func name(_ text: String) -> HTTPField.Name { HTTPField.Name(text) ?? .cacheControl }

    /// Returns the headers of a request that is passed on.
    static func headers(
        of request: Request, _ context: OrchestratorContext, to node: NodeProfile
    ) -> [(name: String, value: String)] {
        // No other client may speak as a node.
        var headers: [(name: String, value: String)] = request.headers.filter {
            ![key, self.client, share, carried, host].contains($0.name)
        }.map { (name: $0.name.rawName, value: $0.value) }
        headers.append((name: key.rawName, value: node.key))
        headers.append((name: client.rawName, value: context.peer))
        if let authority = request.head.authority { headers.append((name: host.rawName, value: authority)) }
        return headers
    }
}
