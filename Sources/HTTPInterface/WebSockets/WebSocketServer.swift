import HTTPTypes
import Logging
import NIOCore
import RoomService
import ServiceLifecycle
import Synchronization

/// A path at which WebSockets are served.
package struct WebSocketRoute: Sendable {
    let path: String
    let limits: WebSocketLimits
    /// Refuses a request before the handshake, or returns `nil`.
    let refusal: @Sendable (HTTPRequest) -> HTTPProblem?
    /// Serves one connection. The connection is closed when it returns.
    let serve: @Sendable (WebSocket) async -> Void

    init(
        path: String, limits: WebSocketLimits = WebSocketLimits(),
        refusal: @escaping @Sendable (HTTPRequest) -> HTTPProblem?,
        serve: @escaping @Sendable (WebSocket) async -> Void
    ) {
        self.path = path
        self.limits = limits
        self.refusal = refusal
        self.serve = serve
    }
}

/// The WebSocket connections of the HTTP port: which paths have them, how many there may be, and the tasks that serve them.
package final class WebSocketServer: Service {
    /// Maximum numbers of connections.
    package struct Numbers: Hashable, Sendable {
        package var all = 1000
        /// Of one address, which may be a proxy's.
        package var perAddress = 1000

        package init() {}
    }

    private let routes: [String: WebSocketRoute]
    private let numbers: Numbers
    private let logger: Logger
    private let open = Mutex<[String: Int]>([:])
    private let arrivals: AsyncStream<(WebSocketRoute, WebSocket)>
    private let arrive: AsyncStream<(WebSocketRoute, WebSocket)>.Continuation

    package init(routes: [WebSocketRoute], numbers: Numbers = Numbers(), logger: Logger) {
        self.routes = Dictionary(routes.map { ($0.path, $0) }) { $1 }
        self.numbers = numbers
        self.logger = logger
        // Bounded by the number of connections.
        (arrivals, arrive) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await (route, socket) in arrivals {
                    group.addTask {
                        await route.serve(socket)
                        socket.close(.normal())
                    }
                }
            }
        } onGracefulShutdown: { [arrive] in
            // The connections end with the HTTP server, which tells them.
            arrive.finish()
        }
    }

    /// Returns the route of a request for a WebSocket; `nil` for all other requests.
    func route(for head: HTTPRequest) -> WebSocketRoute? {
        guard WebSocketHandshake.isAsked(by: head), let path = head.path else { return nil }
        return routes[String(path.prefix { $0 != "?" })]
    }

    /// Counts a connection of an address.
    ///
    /// - Throws: `HTTPProblem` of status 503 if there are too many.
    func enter(_ address: String) throws(HTTPProblem) {
        let isFull = open.withLock { open in
            let own = open[address, default: 0]
            guard own < numbers.perAddress, open.values.reduce(0, +) < numbers.all else { return true }
            open[address] = own + 1
            return false
        }
        guard isFull else { return }
        throw HTTPProblem(
            .serviceUnavailable, "too-many-websockets", "There are too many WebSocket connections",
            detail: "at most \(numbers.all) are served, and \(numbers.perAddress) of one address",
            headers: [.retryAfter: "5"])
    }

    func leave(_ address: String) {
        open.withLock { open in
            let left = open[address, default: 1] - 1
            open[address] = left > 0 ? left : nil
        }
    }

    /// Serves a connection.
    func take(_ socket: WebSocket, at route: WebSocketRoute) {
        if case .terminated = arrive.yield((route, socket)) { socket.close(.goingAway("the service stops")) }
    }
}
