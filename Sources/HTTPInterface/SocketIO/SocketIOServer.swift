import EncodedMedia
import Foundation
import HTTPTypes
import Logging
import MixModel
import RoomService
import ServiceLifecycle
import SocketIO
import Synchronization

/// Socket.IO at `/socket.io/`: the connections of all clients, and their timers.
package final class SocketIOServer: Service {
    private struct State {
        var sessions: [String: SocketIOSession] = [:]
        var ofAddresses: [String: Int] = [:]
        var places: SocketIOPlaces
        /// The apps for which sessions count; a session whose app is not known yet has no entry.
        var apps: [String: AppID] = [:]
        var visits: DeadlineWheel<String>
        var isStopping = false
    }

    let settings: SocketIOSettings
    let access: SocketIOAccess
    let handler: any SocketIOHandler
    let rooms = SocketIORooms()
    private let metrics: Metrics
    private let logger: Logger
    private let state: Mutex<State>
    private let wakes: AsyncStream<SocketIOSession>
    private let wakeUp: AsyncStream<SocketIOSession>.Continuation

    /// Interval between two checks of the connections, in ms.
    private static let tick: Int64 = 100

    package init(
        settings: SocketIOSettings, apps: AppSettings, limits: RateLimits, handler: any SocketIOHandler,
        metrics: Metrics, logger: Logger
    ) {
        self.settings = settings
        self.handler = handler
        self.metrics = metrics
        self.logger = logger
        access = SocketIOAccess(
            tokens: apps.tokens, apps: apps.ids, limits: limits, origins: settings.origins, isOpen: settings.isOpen)
        state = Mutex(
            State(
                places: SocketIOPlaces(all: settings.maxSessions, apps: apps.sharers),
                visits: DeadlineWheel(tick: Self.tick * 1_000_000, now: MonotonicClock.now())))
        // Bounded by the connections: a connection that ends is woken a few times.
        (wakes, wakeUp) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.lookAfterSessions() }
            await withGracefulShutdownHandler {
                for await session in wakes { group.addTask { await session.work() } }
            } onGracefulShutdown: { [wakeUp] in
                wakeUp.finish()
            }
            let sessions = state.withLock { state in
                state.isStopping = true
                return Array(state.sessions.values)
            }
            for session in sessions {
                session.end(.serviceClosed)
                group.addTask { await session.work() }
            }
        }
    }

    private func lookAfterSessions() async {
        while (try? await Task.sleep(for: .milliseconds(Self.tick))) != nil {
            let now = MonotonicClock.now()
            let (sessions, isOver) = state.withLock { state in
                (state.visits.take(now: now).compactMap { state.sessions[$0] }, state.isStopping)
            }
            for session in sessions { session.tick(now: now) }
            if isOver { return }
        }
    }

    // MARK: Connections

    /// Begins a connection.
    ///
    /// - Parameter socket: WebSocket of the handshake; `nil` means polling.
    /// - Throws: `HTTPProblem` of status 503 if there are too many, or the free places are kept for other apps.
    func open(
        _ query: EngineIOQuery, _ shown: SocketIOAccess.Shown, address: String, socket: WebSocket? = nil
    ) throws(HTTPProblem) -> SocketIOSession {
        let session = SocketIOSession(
            id: Self.newID(), query, shown: shown, address: address, socket: socket, server: self)
        let app = access.app(of: shown, query.version)
        let refusal = state.withLock { state -> String? in
            let own = state.ofAddresses[address, default: 0]
            guard !state.isStopping, state.sessions.count < settings.maxSessions, own < settings.maxSessionsPerAddress
            else {
                return "at most \(settings.maxSessions) are served (socketio.maxSessions), and "
                    + "\(settings.maxSessionsPerAddress) of one address (socketio.maxSessionsPerAddress)"
            }
            guard state.places.take(app) else { return state.places.refusal(of: app) }
            state.ofAddresses[address] = own + 1
            state.sessions[session.id] = session
            state.apps[session.id] = app
            return nil
        }
        guard let refusal else { return session }
        refused("full")
        throw HTTPProblem(
            .serviceUnavailable, Self.fullCode, "There are too many connections of Socket.IO", detail: refusal,
            headers: [.retryAfter: "5"])
    }

    /// Code of the refusal of a connection for which there is no place.
    private static let fullCode = "too-many-sessions"

    /// Counts a connection for the app in which its client connects to a namespace.
    ///
    /// - Throws: `SocketIORefusal` if the free places are kept for other apps.
    func count(_ session: SocketIOSession, for app: AppID) throws(SocketIORefusal) {
        let refusal = state.withLock { state -> String? in
            // The connection may have ended in the meantime.
            guard state.sessions[session.id] != nil else { return nil }
            guard state.places.move(from: state.apps[session.id], to: app) else {
                return state.places.refusal(of: app)
            }
            state.apps[session.id] = app
            return nil
        }
        guard let refusal else { return }
        throw SocketIORefusal(message: refusal, data: .object(["code": .string(Self.fullCode)]), isFull: true)
    }

    /// Returns the connection of a request. It belongs to the client that began it: another token is refused.
    func session(_ id: String, _ shown: SocketIOAccess.Shown) throws(EngineIOError) -> SocketIOSession {
        guard let session = state.withLock({ $0.sessions[id] }) else { throw .unknownSession }
        guard shown.caller == nil || shown.caller == session.shown.caller else { throw .forbidden }
        return session
    }

    /// Returns an unguessable identifier of 120 bits.
    static func newID() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<15).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    }

    // MARK: For connections

    func visit(_ session: SocketIOSession, at time: Int64) {
        state.withLock { state in
            if state.sessions[session.id] != nil { state.visits.put(session.id, at: time) }
        }
    }

    /// Schedules a connection's pending work.
    func wake(_ session: SocketIOSession) { wakeUp.yield(session) }

    func remove(_ session: SocketIOSession, _ reason: EngineSession.End) {
        state.withLock { state in
            guard state.sessions.removeValue(forKey: session.id) != nil else { return }
            state.visits.remove(session.id)
            state.places.giveBack(state.apps.removeValue(forKey: session.id))
            let left = state.ofAddresses[session.address, default: 1] - 1
            state.ofAddresses[session.address] = left > 0 ? left : nil
        }
        metrics.count(.socketIOEnds, reason.rawValue)
        logger.debug("Socket.IO: a connection has ended: \(reason.rawValue)")
    }

    func received(_ packets: Int) { metrics.count(.socketIOReceived, by: Int64(packets)) }
    func sent(_ packets: Int) { metrics.count(.socketIOSent, by: Int64(packets)) }
    func refused(_ reason: String) { metrics.count(.socketIORefusals, reason) }

    /// Numbers of connections by transport.
    package var counts: [String: Int] {
        let sessions = state.withLock { Array($0.sessions.values) }
        var counts = Dictionary(uniqueKeysWithValues: EngineIOTransport.allCases.map { ($0.rawValue, 0) })
        for session in sessions { counts[session.transport.rawValue, default: 0] += 1 }
        return counts
    }
}
