import EncodedMedia
import RTMP

/// A request to a checked address, over its own connection or a shared one that serves many requests.
///
/// `@unchecked Sendable`: its state belongs to the loop.
final class HTTPExchange: @unchecked Sendable {
    /// The wanted part of the response.
    enum Extent: Hashable, Sendable {
        case head
        /// - Parameter limit: Largest size in bytes. For an unsuccessful response, only the head is read.
        case body(limit: Int)
        /// The body with any status. For a failure, bytes after the first `limit` are not read.
        case anyBody(limit: Int)
    }

    /// The part of a request that is not its URL.
    struct Message: Sendable {
        var method = "GET"
        /// Header fields in addition to those of every request. Their values must be printable ASCII.
        var fields: [(name: String, value: String)] = []
        /// `nil` for a request without content.
        var body: [UInt8]?
    }

    /// Longest wait for a complete response, in seconds.
    private static let longest = 60

    private let loop = SocketLoop.shared
    private let destination: Destination
    private let tls: TLSContext?
    private let timeout: Int
    private let extent: Extent
    private let request: [UInt8]
    private var response: HTTPResponse
    private let connections: HTTPConnections?
    private var line: HTTPLine?
    /// Whether the connection has served another request, so that the server may have closed it in the meantime.
    private var isReused = false
    private var timer: SocketLoop.Watch?
    private var isOver = false
    private var latest: Int64 = .max
    private var continuation: CheckedContinuation<Result<HTTPResponse, ConnectionFault>, Never>?

    /// - Parameters:
    ///   - url: An HTTP URL.
    ///   - trust: Trusted certificates; `nil` uses those of the system.
    ///   - timeout: Longest time in seconds for connecting, and without any byte.
    ///   - message: The request; `nil` fetches the resource.
    ///   - range: The requested bytes of the resource; `nil` requests all.
    ///   - connections: Connections to use, and to keep for further requests; `nil` uses its own.
    ///   - scheme: The scheme by which `limits` name the protocol; `nil` uses the URL's.
    /// - Throws: `PullEnd` of kind `.badURL` if it is not an HTTP URL.
    init(
        _ url: String, limits: Destination.Limits?, trust: TLSContext?, timeout: Int, extent: Extent,
        message: Message = Message(), range: Range<Int64>? = nil, connections: HTTPConnections? = nil,
        judgedAs scheme: String? = nil
    ) throws(PullEnd) {
        guard let destination = Destination(url: url, limits: limits), let path = Self.path(of: url),
            ["http", "https"].contains(destination.target.scheme)
        else { throw PullEnd(.badURL, "an address is not one of HTTP") }
        let target = destination.target
        self.destination =
            scheme.map {
                Destination(scheme: $0, host: target.host, port: UInt16(clamping: target.port), limits: limits)
            } ?? destination
        tls = target.scheme == "https" ? trust ?? .system : nil
        self.timeout = timeout
        self.extent = extent
        self.connections = connections
        var fields = message.fields
        if let range { fields.append(("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")) }
        if let body = message.body { fields.append(("Content-Length", "\(body.count)")) }
        let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        request =
            Array(
                """
                \(message.method) \(path.path) HTTP/1.1\r\nHost: \(path.authority)\r\nAccept-Encoding: identity\r\n\(lines)\
                User-Agent: mixworker\r\nConnection: \(connections == nil ? "close" : "keep-alive")\r\n\r\n
                """.utf8) + (message.body ?? [])
        let limit =
            switch extent {
            case .head: HTTPResponse.longestHead
            case .body(let limit), .anyBody(let limit): limit
            }
        response = HTTPResponse(limit: limit)
    }

    /// Sends the request and returns the response. Ends early if its task is cancelled. Call it once.
    func run() async -> Result<HTTPResponse, ConnectionFault> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.perform { [self] in begin(continuation) }
            }
        } onCancel: {
            loop.perform { [self] in end(.failure(ConnectionFault(.lost, "cancelled"))) }
        }
    }

    private func begin(_ continuation: CheckedContinuation<Result<HTTPResponse, ConnectionFault>, Never>) {
        guard !isOver else { return continuation.resume(returning: .failure(ConnectionFault(.lost, "cancelled"))) }
        self.continuation = continuation
        let timer = SocketLoop.Watch(
            onReady: {}, onDeadline: { [self] in end(.failure(ConnectionFault(.timedOut, "timed out"))) })
        let now = MonotonicClock.now()
        latest = now + Int64(Self.longest) * 1_000_000_000
        timer.deadline = now + Int64(timeout) * 1_000_000_000
        self.timer = timer
        loop.add(timer)
        if let line = connections?.take(to: HTTPLine.server(destination, tls: tls), now: now) {
            isReused = true
            line.onEvent = { [self] in handle($0) }
            self.line = line
            line.send(request)
        } else {
            connect()
        }
    }

    private func connect() {
        line = HTTPLine(destination, tls: tls, timeout: timeout) { [self] in handle($0) }
    }

    private func handle(_ event: TCPConnection.Event) {
        switch event {
        case .connected: line?.send(request)
        case .received(let bytes, let arrival): take(bytes, at: arrival)
        case .ended(let fault): closed(fault)
        }
    }

    private func take(_ bytes: ArraySlice<UInt8>, at arrival: Int64) {
        timer?.deadline = min(latest, arrival + Int64(timeout) * 1_000_000_000)
        do throws(HTTPResponse.Failure) {
            try response.push(bytes)
        } catch {
            if error == .tooLong, case .anyBody = extent, response.status >= 300 { return end(.success(response)) }
            let words = error == .tooLong ? "the server's answer is too large" : "the server's answer is not HTTP/1.1"
            return end(.failure(ConnectionFault(.protocolBroken, words)))
        }
        let isWanted =
            switch extent {
            case .head: false
            case .body: 200...299 ~= response.status
            case .anyBody: true
            }
        if response.isComplete || (response.hasHead && !isWanted) { end(.success(response)) }
    }

    private func closed(_ fault: ConnectionFault?) {
        guard !isOver else { return }
        if isReused, !response.hasBegun {
            // The server closed the connection before it received this request (RFC 9112 §9.3.1).
            isReused = false
            let old = line
            loop.perform { old?.close() }
            return connect()
        }
        if fault == nil, response.closed() { return end(.success(response)) }
        end(
            .failure(fault ?? ConnectionFault(.lost, "the server closed the connection before its answer was complete"))
        )
    }

    private func end(_ result: Result<HTTPResponse, ConnectionFault>) {
        isOver = true
        guard let continuation else { return }
        self.continuation = nil
        continuation.resume(returning: result)
        if let timer { loop.remove(timer) }
        timer = nil
        let line = line
        self.line = nil
        if let line, let connections, case .success(let response) = result, response.leavesConnectionUsable {
            return connections.put(line, now: MonotonicClock.now())
        }
        // Not from within its own event.
        loop.perform { line?.close() }
    }

    /// Returns the parts of a URL for a request.
    private static func path(of url: String) -> (authority: String, path: String)? {
        guard let separator = url.firstRange(of: "://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return nil
        }
        let rest = url[separator.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@") else { return nil }
        let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
        return (String(authority), (path.hasPrefix("/") ? "" : "/") + path)
    }
}
