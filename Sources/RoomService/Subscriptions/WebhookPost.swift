import AsyncHTTPClient
import EncodedMedia
import EventSubscription
import Foundation
import NIOCore
import NIOPosix
import TextFormats

/// The outcome of one attempt to post a message.
package struct WebhookAnswer: Hashable, Sendable {
    /// The result, as counted in the metrics.
    package enum Result: String, CaseIterable, Sendable {
        case delivered
        /// The receiver answered with a status other than success.
        case refused
        /// The receiver answered with a redirect, which is not followed.
        case redirected
        case timeout
        case unreachable
        /// The address is not in `callbacks.allow`.
        case forbidden
        /// The service stopped before an answer arrived.
        case abandoned
    }
    package var result: Result
    package var code: Int?
    /// Description of the error. Of the URL it contains only the host.
    package var error: String?
    /// Delay that the receiver requests before the next attempt.
    var retryAfter: Duration?
    /// Body of the answer, if the request keeps it and it is not too long.
    package var body: [UInt8]?

    package init(
        result: Result, code: Int? = nil, error: String? = nil, retryAfter: Duration? = nil, body: [UInt8]? = nil
    ) {
        self.result = result
        self.code = code
        self.error = error
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// A message to be posted.
struct WebhookRequest: Sendable {
    var url: StreamURL
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// Whether only status 200 is success; otherwise every 2xx is.
    var needs200: Bool
    /// Whether to keep the answer's body.
    var keepsAnswer = false
}

/// Posts to one endpoint over persistent connections. It resolves the host, checks the addresses against
/// `callbacks.allow`, and connects to a checked address; TLS still verifies the host's name.
actor WebhookPost {
    private let allowed: AllowList
    private let resolve: @Sendable (String, Duration) async throws(FileRefusal) -> [InternetAddress]
    /// Maximum number of connections; further requests wait.
    private let connections: Int

    private struct Peer {
        var host: String
        var address: InternetAddress
        var client: HTTPClient
        /// Time of the last check of the address, in ns of CLOCK_MONOTONIC.
        var checkedAt: Int64
    }
    private var peer: Peer?
    /// Clients of earlier addresses, with requests that may still be under way.
    private var earlier: [HTTPClient] = []
    /// Address at which the last attempt failed. If there is another address, it is tried first.
    private var failed: InternetAddress?

    /// Time after which a name is resolved again, in ns.
    static let lookUpInterval: Int64 = 10_000_000_000
    /// Maximum number of bytes read of an answer. The rest is ignored.
    static let mostBytes = 16 << 10

    init(
        allowed: AllowList, connections: Int = 8,
        resolve: @escaping @Sendable (String, Duration) async throws(FileRefusal) -> [InternetAddress] =
            HostAddresses.lookUp
    ) {
        self.allowed = allowed
        self.connections = connections
        self.resolve = resolve
    }

    /// - Parameter limit: Timeout for the whole attempt.
    func send(_ request: WebhookRequest, within limit: Duration) async -> WebhookAnswer {
        do {
            return try await withThrowingTaskGroup(of: WebhookAnswer?.self) { group in
                group.addTask { try await self.exchange(request, limit) }
                group.addTask {
                    try await Task.sleep(for: limit)
                    return nil
                }
                defer { group.cancelAll() }
                if let answer = try await group.next() ?? nil { return answer }
                return WebhookAnswer(
                    result: .timeout, error: "did not answer within \(limit.components.seconds) s")
            }
        } catch let refusal as Forbidden {
            return WebhookAnswer(result: .forbidden, error: refusal.reason)
        } catch {
            if Task.isCancelled { return WebhookAnswer(result: .abandoned) }
            return WebhookAnswer(result: .unreachable, error: Self.words(for: error))
        }
    }

    /// Closes the connections. Nothing may be sent afterwards.
    func close() async {
        for client in earlier + [peer?.client].compactMap({ $0 }) { try? await client.shutdown() }
        (peer, earlier) = (nil, [])
    }

    private struct Forbidden: Error { var reason: String }

    private func exchange(_ request: WebhookRequest, _ limit: Duration) async throws -> WebhookAnswer {
        let client = try await client(for: request.url, limit)
        do {
            return try await exchange(request, over: client)
        } catch {
            // Also if the time has passed: another address may answer.
            if let peer, peer.client === client { failed = peer.address }
            throw error
        }
    }

    private func exchange(_ request: WebhookRequest, over client: HTTPClient) async throws -> WebhookAnswer {
        var outgoing = HTTPClientRequest(url: request.url.textWithPlainHost)
        outgoing.method = .POST
        outgoing.headers.add(name: "user-agent", value: "mixorchestrator/\(ServiceVersion.text)")
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        outgoing.body = .bytes(ByteBuffer(bytes: request.body))
        let response = try await client.execute(outgoing, deadline: .distantFuture)
        var size = 0
        var body: [UInt8]? = request.keepsAnswer ? [] : nil
        // The body is read, so that the connection can be reused.
        for try await buffer in response.body {
            size += buffer.readableBytes
            guard size <= Self.mostBytes else {
                body = nil
                break
            }
            body?.append(contentsOf: buffer.readableBytesView)
        }
        var answer = Self.answer(Int(response.status.code), response, needs200: request.needs200)
        answer.body = body
        return answer
    }

    private static func answer(_ code: Int, _ response: HTTPClientResponse, needs200: Bool) -> WebhookAnswer {
        switch code {
        case needs200 ? 200...200 : 200...299: return WebhookAnswer(result: .delivered, code: code)
        case 300...399:
            return WebhookAnswer(
                result: .redirected, code: code,
                error: "answered \(code), a redirect: redirects are not followed, subscribe with the new URL"
            )
        default:
            let seconds = response.headers.first(name: "retry-after").flatMap { Int($0) }.map {
                max(0, min($0, 86_400))
            }
            return WebhookAnswer(
                result: .refused, code: code, error: "answered \(code)",
                retryAfter: code == 429 || code == 503 ? seconds.map { .seconds($0) } : nil)
        }
    }

    // MARK: Addresses

    private func client(for url: StreamURL, _ limit: Duration) async throws -> HTTPClient {
        let now = MonotonicClock.now()
        if let peer, peer.host == url.host, failed == nil, now - peer.checkedAt < Self.lookUpInterval {
            return peer.client
        }
        guard allowed.allows(url) else { throw Self.notAllowed(url.host) }
        let found: [InternetAddress]
        do {
            found = try await resolve(url.host, limit)
        } catch {
            throw Unresolved(host: url.host)
        }
        let good = found.filter { allowed.allows(url, at: $0) }
        guard let first = good.first else {
            guard let bad = found.first else { throw Unresolved(host: url.host) }
            throw Self.notAllowed("\(url.host), which is at \(bad),")
        }
        // Another request may have resolved the name in the meantime.
        let address =
            good.first { peer?.host == url.host && $0 == peer?.address && $0 != failed } ?? good.first { $0 != failed }
            ?? first
        failed = nil
        if let peer, peer.host == url.host, peer.address == address {
            self.peer?.checkedAt = now
            return peer.client
        }
        if let peer { earlier.append(peer.client) }
        let client = makeClient(host: url.host, address)
        peer = Peer(host: url.host, address: address, client: client, checkedAt: now)
        // Last, because other requests come here in the meantime.
        while earlier.count > 4 { try? await earlier.removeFirst().shutdown() }
        return client
    }

    private func makeClient(host: String, _ address: InternetAddress) -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.dnsOverride = [host: "\(address)"]
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(4)
        configuration.connectionPool.idleTimeout = .seconds(30)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        // Attempts are counted and reported here.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    private struct Unresolved: Error { var host: String }

    private static func notAllowed(_ place: String) -> Forbidden {
        Forbidden(reason: "may not be called: \(place) is not in callbacks.allow; add scheme://host[:port] there")
    }

    /// Returns a description of an error, without the URL that some errors contain.
    static func words(for error: any Error) -> String {
        switch error {
        case let error as Unresolved: "cannot be looked up: \(error.host)"
        case let error as HTTPClientError: "cannot be reached: \(error.shortDescription)"
        case let error as IOError: "cannot be reached: \(String(cString: strerror(error.errnoCode)))"
        case is NIOConnectionError: "cannot be reached: no server answers at that address"
        default: "cannot be reached: \(type(of: error))"
        }
    }
}
