import HTTPTypes
import NIOCore
import RoomService
import ServiceLifecycle
import Synchronization

/// Paths at which WebSockets are served.
package struct WebSocketRoute: Sendable {
    let paths: [String]
    let limits: WebSocketLimits
    /// Maximum numbers of connections at these paths.
    let numbers: WebSocketServer.Numbers
    /// Refuses a request of an address before the handshake, or returns `nil`.
    let refusal: @Sendable (HTTPRequest, String) -> WebSocketRefusal?
    /// Serves one connection, which began with this request. The connection is closed when it returns.
    let serve: @Sendable (WebSocket, HTTPRequest) async -> Void

    init(
        paths: [String], limits: WebSocketLimits = WebSocketLimits(), numbers: WebSocketServer.Numbers,
        refusal: @escaping @Sendable (HTTPRequest, String) -> WebSocketRefusal?,
        serve: @escaping @Sendable (WebSocket, HTTPRequest) async -> Void
    ) {
        self.paths = paths
        self.limits = limits
        self.numbers = numbers
        self.refusal = refusal
        self.serve = serve
    }
}

/// The answer to a request that gets no WebSocket.
struct WebSocketRefusal: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    var body: ByteBuffer

    init(status: HTTPResponse.Status, headers: HTTPFields, body: ByteBuffer) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(_ problem: HTTPProblem) {
        self.init(status: problem.status, headers: problem.headers, body: problem.document)
        headers[.contentType] = "application/problem+json"
    }
}

/// The WebSocket connections of the HTTP port: which paths have them, how many there may be, and the tasks that serve them.
package final class WebSocketServer: Service {
    /// Maximum numbers of connections.
    package struct Numbers: Hashable, Sendable {
        package var all = 1000
        /// Maximum number of connections of one address, which may be a proxy's.
        package var perAddress = 1000

        package init() {}
    }

    private struct Arrival: Sendable {
        let route: WebSocketRoute
        let socket: WebSocket
        let head: HTTPRequest
    }
    /// Connections of a route.
    private struct Count {
        var all = 0
        var ofAddresses: [String: Int] = [:]
    }

    private let routes: [String: WebSocketRoute]
    /// Connections by the first path of their route.
    private let open = Mutex<[String: Count]>([:])
    private let arrivals: AsyncStream<Arrival>
    private let arrive: AsyncStream<Arrival>.Continuation

    package init(routes: [WebSocketRoute]) {
        self.routes = Dictionary(routes.flatMap { route in route.paths.map { ($0, route) } }) { $1 }
        // Bounded by the number of connections.
        (arrivals, arrive) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await arrival in arrivals {
                    group.addTask {
                        await arrival.route.serve(arrival.socket, arrival.head)
                        arrival.socket.close(.normal())
                    }
                }
            }
        } onGracefulShutdown: { [arrive] in
            // The connections end with the HTTP server, which notifies them.
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
    func enter(_ address: String, _ route: WebSocketRoute) throws(HTTPProblem) {
        let numbers = route.numbers
        let isFull = open.withLock { open in
            var count = open[route.key, default: Count()]
            let own = count.ofAddresses[address, default: 0]
            guard own < numbers.perAddress, count.all < numbers.all else { return true }
            count.all += 1
            count.ofAddresses[address] = own + 1
            open[route.key] = count
            return false
        }
        guard isFull else { return }
        throw HTTPProblem(
            .serviceUnavailable, "too-many-websockets", "There are too many WebSocket connections",
            detail: "at most \(numbers.all) are served, and \(numbers.perAddress) of one address",
            headers: [.retryAfter: "5"])
    }

    func leave(_ address: String, _ route: WebSocketRoute) {
        open.withLock { open in
            guard let left = open[route.key]?.ofAddresses[address] else { return }
            open[route.key]?.ofAddresses[address] = left > 1 ? left - 1 : nil
            open[route.key]?.all -= 1
        }
    }

    /// Serves a connection.
    func take(_ socket: WebSocket, at route: WebSocketRoute, _ head: HTTPRequest) {
        let arrival = Arrival(route: route, socket: socket, head: head)
        if case .terminated = arrive.yield(arrival) { socket.close(.goingAway("the service stops")) }
    }
}

extension WebSocketRoute {
    fileprivate var key: String { paths.first ?? "" }
}
