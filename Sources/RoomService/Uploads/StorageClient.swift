import AsyncHTTPClient
import EncodedMedia
import NIOCore
import NIOHTTP1
import ObjectStorage
import Synchronization

/// Calls one storage over persistent connections. Every storage that the operator configures may be called: no
/// allow-list applies.
final class StorageClient: Sendable {
    private let target: UploadTarget
    private let pace: UploadPace?
    private let connections: Int
    /// Created with the first call, because a client that exists must be shut down.
    private let client = Mutex<HTTPClient?>(nil)
    private let onSent: @Sendable (Int) -> Void
    /// Rate in bytes per second below which a call counts as having no answer.
    private let slowest: Double

    /// Timeout of a call in seconds, without the time for its body.
    private static let patience = 60.0
    /// Rate in bytes per second that any connection is expected to reach.
    private static let slowestLine = 32_768.0

    /// - Parameters:
    ///   - pace: The bandwidth; `nil` = no limit.
    ///   - share: Bytes per second that each of several uploads is guaranteed; `nil` = no limit.
    ///   - onSent: Called with the number of bytes of each piece sent.
    init(
        _ target: UploadTarget, pace: UploadPace?, share: Double?, connections: Int,
        onSent: @escaping @Sendable (Int) -> Void
    ) {
        self.target = target
        self.pace = pace
        self.onSent = onSent
        slowest = min(share.map { $0 / 2 } ?? Self.slowestLine, Self.slowestLine)
        self.connections = connections
    }

    private func makeClient() -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.timeout = .init(connect: .seconds(10), read: .seconds(60))
        configuration.connectionPool.idleTimeout = .seconds(30)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        // Attempts are counted and reported here.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Makes a call.
    ///
    /// - Parameter body: The body of `put` and `part`.
    /// - Returns: The answer, regardless of its status.
    /// - Throws: A fault if there is no answer.
    func call(
        _ call: StorageCall, _ key: String, type: String, body: [UInt8] = []
    ) async throws(StorageFault) -> StorageAnswer {
        let credentials = await offPool { [target] in target.keys.current }
        let request = call.request(for: key, type: type, at: target.place, as: credentials, seconds: wallClock())
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method)
        outgoing.headers.add(name: "user-agent", value: "mixorchestrator/\(ServiceVersion.text)")
        for header in request.headers { outgoing.headers.add(name: header.name, value: header.value) }
        if !body.isEmpty {
            outgoing.body = .stream(
                PacedBytes(bytes: ByteBuffer(bytes: body), pace: pace, onChunk: onSent),
                length: .known(Int64(body.count)))
        } else if ["PUT", "POST"].contains(request.method) {
            outgoing.body = .bytes(ByteBuffer(bytes: request.body))
        }
        let client = client.withLock { client in
            if let client { return client }
            let new = makeClient()
            client = new
            return new
        }
        let limit = Self.patience + Double(body.count) / slowest
        do {
            let response = try await client.execute(outgoing, timeout: .milliseconds(Int64(limit * 1000)))
            return StorageAnswer(
                status: Int(response.status.code),
                headers: Dictionary(
                    response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first }),
                body: try await Self.read(response.body, isHead: request.method == "HEAD"))
        } catch let error as HTTPClientError where Self.timeouts.contains(error) {
            throw StorageFault(.timeout, "\(target.place.endpoint) did not answer in time")
        } catch {
            throw StorageFault(.unreachable, "\(target.place.endpoint) \(WebhookPost.words(for: error))")
        }
    }

    private static let timeouts: [HTTPClientError] = [
        .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout,
    ]

    private static func read(_ body: HTTPClientResponse.Body, isHead: Bool) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        if isHead { return bytes }
        for try await buffer in body {
            bytes += buffer.readableBytesView.prefix(StorageAnswer.mostBytes - bytes.count)
            if bytes.count >= StorageAnswer.mostBytes { break }
        }
        return bytes
    }

    /// Closes the connections. No further calls may be made afterwards.
    func close() async { try? await client.withLock { $0.take() }?.shutdown() }
}
