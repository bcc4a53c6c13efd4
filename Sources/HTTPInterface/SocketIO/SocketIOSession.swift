import EncodedMedia
import EventSubscription
import NIOCore
import ServiceLifecycle
import SocketIO
import Synchronization

/// One client's connection: performs the decisions of `EngineSession` and `SocketIOConnection`. Thread-safe.
///
/// It has no separate task. Packets from a client are handled by the task of its request or WebSocket, timers by the
/// server's task.
final class SocketIOSession: Sendable {
    /// The answer to a request of a client that polls.
    enum Answer: Sendable {
        case packets([EngineIOPacket])
        case accepted
        case refused(EngineIOError)
    }

    /// Pending work, in order.
    enum Work {
        case begin
        case message(EngineIOMessage)
        case ended
    }

    struct State: Sendable {
        var engine: EngineSession
        var connection: SocketIOConnection
        /// Clients by namespace.
        var clients: [String: SocketIOSocket] = [:]
        /// Number of requests and WebSockets so far.
        var count = 0
        var polls: [Int: CheckedContinuation<Answer, Never>] = [:]
        /// Answers that are already available when a request is accepted.
        var answers: [Int: Answer] = [:]
        var sockets: [Int: WebSocket] = [:]
        var work: [Work] = [.begin]
        var workBytes = 0
        /// Whether a task is performing the work.
        var isBusy = false
        /// Time at which the server next checks the connection.
        var visitAt = Int64.max
        /// The reason why the connection has ended.
        var end: EngineSession.End?

        /// Converts packets of Socket.IO to actions of Engine.IO.
        mutating func send(_ actions: [SocketIOConnection.Action]) -> [EngineSession.Action] {
            var sent: [EngineSession.Action] = []
            for case .send(let messages) in actions { sent += engine.send(messages) }
            return sent
        }

        mutating func next() -> Int {
            count += 1
            return count
        }
    }

    /// Identifier that only the client knows.
    let id: String
    let shown: SocketIOAccess.Shown
    let address: String
    let version: EngineIOVersion
    let isTextOnly: Bool
    let server: SocketIOServer
    let state: Mutex<State>

    /// Number of the WebSocket with which a connection begins.
    static let firstSocket = 0

    /// - Parameter socket: WebSocket of the handshake; `nil` means polling.
    init(
        id: String, _ query: EngineIOQuery, shown: SocketIOAccess.Shown, address: String, socket: WebSocket?,
        server: SocketIOServer
    ) {
        self.id = id
        self.shown = shown
        self.address = address
        self.server = server
        version = query.version
        isTextOnly = query.version == .three && query.isTextOnly
        let now = MonotonicClock.now()
        let settings = server.settings
        var state = State(
            engine: EngineSession(
                id: id, version: query.version, socket: socket.map { _ in Self.firstSocket }, settings: settings.engine,
                now: now),
            connection: SocketIOConnection(
                version: query.version, namespaces: server.handler.namespaces,
                connectTimeout: settings.connectTimeout, limits: settings.packets, now: now))
        if let socket { state.sockets[Self.firstSocket] = socket }
        self.state = Mutex(state)
    }

    var transport: EngineIOTransport { state.withLock { $0.engine.transport } }

    // MARK: Polling

    /// Begins the connection. A client of version 3 is connected to the main namespace when this returns.
    func begin() async {
        change { $0.engine.start() }
        await work()
    }

    /// Waits for packets to the client.
    ///
    /// - Parameter channel: The request's connection. The client is gone when that ends.
    func poll(on channel: any Channel) async -> Answer {
        let number = state.withLock { $0.next() }
        let handler = SocketIOPollHandler.watch(channel)
        return await withGracefulShutdownHandler {
            await withCheckedContinuation { continuation in
                change { state in
                    state.polls[number] = continuation
                    return state.engine.poll(number, now: MonotonicClock.now())
                }
                handler.set(self, number)
                // A second `GET`, or one that comes too late, ends the connection.
                if state.withLock({ $0.engine.isOver }) { server.wake(self) }
            }
        } onGracefulShutdown: { [self] in
            end(.serviceClosed)
        }
    }

    func lostPoll(_ number: Int) {
        change { $0.engine.lostPoll(number) }
        server.wake(self)
    }

    /// Accepts a `POST` before its body is read.
    func beginPost() -> (number: Int, refusal: EngineIOError?) {
        let result = state.withLock { state -> (Int, EngineIOError?) in
            let number = state.next()
            perform(state.engine.beginPost(number, now: MonotonicClock.now()), &state)
            if case .refused(let error)? = state.answers.removeValue(forKey: number) { return (number, error) }
            return (number, nil)
        }
        if result.1 != nil { server.wake(self) }
        return result
    }

    /// - Parameter packets: `nil` if the body is not a payload.
    func endPost(_ number: Int, _ packets: [EngineIOPacket]?) async -> Answer {
        server.received(packets?.count ?? 0)
        let answer = state.withLock { state in
            perform(state.engine.endPost(number, packets, now: MonotonicClock.now()), &state)
            return state.answers.removeValue(forKey: number)
        }
        schedule()
        await work()
        return answer ?? .refused(.badRequest)
    }

    func abandonPost(_ number: Int) { state.withLock { $0.engine.abandonPost(number) } }

    // MARK: WebSockets

    /// Accepts a WebSocket to which the client wants to upgrade.
    func attach(_ socket: WebSocket) -> Int {
        let number = state.withLock { state in
            let number = state.next()
            state.sockets[number] = socket
            perform(state.engine.attach(number, now: MonotonicClock.now()), &state)
            return number
        }
        schedule()
        return number
    }

    func receive(_ message: WebSocketMessage, from number: Int) async {
        server.received(1)
        let packet: EngineIOPacket? =
            switch message {
            case .text(let text): try? EngineIOPacket(text: text[...], version: version)
            case .binary(let bytes): try? EngineIOPacket(binary: bytes, version: version)
            }
        change { $0.engine.receive(packet, from: number, now: MonotonicClock.now()) }
        await work()
    }

    func closed(_ number: Int) async {
        change { state in
            state.sockets[number] = nil
            return state.engine.closed(number)
        }
        await work()
    }

    // MARK: For clients, and for the server

    /// Sends the messages of a packet to the client in a namespace.
    ///
    /// - Returns: False if the client has left.
    func send(_ messages: [EngineIOMessage], in namespace: String) -> Bool {
        let (isThere, hasEnded) = state.withLock { state in
            guard !state.engine.isOver, state.connection.isConnected(to: namespace) else { return (false, false) }
            perform(state.engine.send(messages), &state)
            return (!state.engine.isOver, state.engine.isOver)
        }
        if hasEnded { server.wake(self) }
        return isThere
    }

    func disconnect(_ namespace: String) {
        let client = state.withLock { state -> SocketIOSocket? in
            perform(state.send(state.connection.disconnect(namespace)), &state)
            return state.clients[namespace]
        }
        if client != nil { server.wake(self) }
    }

    func end(_ reason: EngineSession.End) {
        change { $0.engine.end(reason) }
        server.wake(self)
    }

    func tick(now: Int64) {
        let isOver = state.withLock { state in
            state.visitAt = .max
            var actions = state.engine.tick(now: now)
            if state.connection.tick(now: now) == [.close] { actions += state.engine.end(.protocolError) }
            perform(actions, &state)
            return state.engine.isOver
        }
        if isOver { server.wake(self) } else { schedule() }
    }

    // MARK: Work

    /// Performs the pending work, unless another task is performing it.
    func work() async {
        guard
            state.withLock({ state in
                defer { state.isBusy = true }
                return !state.isBusy
            })
        else { return }
        while let actions = nextActions() {
            for action in actions { await perform(action) }
        }
    }

    /// Returns the next actions; `nil` when nothing is left, and the caller then stops working.
    private func nextActions() -> [SocketIOConnection.Action]? {
        state.withLock { state in
            // A client that the server has disconnected is reported like one that has left.
            if let gone = state.clients.keys.first(where: { !state.connection.isConnected(to: $0) }) {
                return [.left(namespace: gone)]
            }
            guard !state.work.isEmpty else {
                state.isBusy = false
                return nil
            }
            switch state.work.removeFirst() {
            case .begin: return state.connection.start()
            case .message(let message):
                state.workBytes -= message.size
                return state.connection.receive(message)
            case .ended: return state.connection.ended()
            }
        }
    }

    private func perform(_ action: SocketIOConnection.Action) async {
        switch action {
        case .send(let messages): change { $0.engine.send(messages) }
        case .admit(let namespace, let auth): await admit(namespace, auth)
        case .event(let namespace, let event):
            guard let client = state.withLock({ $0.clients[namespace] }) else { return }
            let reply = await server.handler.received(event, from: client)
            change { $0.send($0.connection.acknowledge(event, in: namespace, reply)) }
        case .left(let namespace):
            let (gone, end) = state.withLock { ($0.clients.removeValue(forKey: namespace), $0.end) }
            guard let gone else { return }
            server.rooms.leaveAll(gone)
            await server.handler.disconnected(gone, by: end)
        case .close: change { $0.engine.end(.protocolError) }
        }
    }

    private func admit(_ namespace: String, _ auth: JSONValue?) async {
        do throws(SocketIORefusal) {
            let caller = try server.access.admit(shown, auth: auth, address: address)
            try server.count(self, for: caller.app)
            let client = SocketIOSocket(
                id: SocketIOServer.newID(), namespace: namespace, caller: caller, session: self, rooms: server.rooms)
            change { state in
                state.clients[namespace] = client
                return state.send(state.connection.accept(namespace, id: client.id))
            }
            await server.handler.connected(client, auth: auth)
        } catch {
            server.refused(error.isFull ? "full" : "namespace")
            change { $0.send($0.connection.refuse(namespace, message: error.message, data: error.data)) }
            guard error.isFull else { return }
            // It would take the place of a client whose app is not known yet.
            change { $0.clients.isEmpty ? $0.engine.finish(.noPlace, now: MonotonicClock.now()) : [] }
        }
    }
}
