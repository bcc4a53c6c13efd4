/// One connection of Engine.IO from its handshake to its end: the server's reaction to each request and frame.
///
/// A value without clock or socket: requests, frames and times in, actions out. Requests and sockets are identified by
/// numbers assigned by the owner. Times are nanoseconds of any monotonic clock.
public struct EngineSession: Sendable {
    /// The number of a request or of a WebSocket.
    public typealias Number = Int

    public enum Action: Hashable, Sendable {
        /// Answers a `GET`.
        case answer(Number, [EngineIOPacket])
        /// Answers a `POST` with `ok`.
        case accept(Number)
        case refuse(Number, EngineIOError)
        case write(Number, [EngineIOPacket])
        /// Closes a WebSocket.
        case shut(Number)
        case deliver(EngineIOMessage)
        /// The connection has ended. Nothing is delivered after it.
        case end(End)
    }

    /// The reason why a connection ended.
    public enum End: String, Hashable, Sendable, CaseIterable {
        case clientClosed = "closed"
        /// The client's WebSocket, or the connection of its `GET`, has ended.
        case connectionLost = "lost"
        case pingTimeout = "timeout"
        case protocolError = "protocol"
        /// The client reads too slowly.
        case overflow
        case serviceClosed = "service"
        /// All places that the client's app may have are taken.
        case noPlace = "full"
    }

    private struct Probe {
        let socket: Number
        let until: Int64
        /// Time of the next packet that ends the client's `GET`; `nil` before the client has sent one.
        var releaseAt: Int64?
    }

    public let version: EngineIOVersion
    private let settings: EngineIOSettings
    public private(set) var isOver = false
    /// The WebSocket that carries the connection; `nil` = polling.
    private var socket: Number?
    private var probe: Probe?
    /// The `GET` that is waiting.
    public private(set) var held: Number?
    /// The `POST` whose body is being read.
    private var posting: Number?
    private var queue: [EngineIOPacket] = []
    private var queuedBytes = 0
    /// Time of the next ping in version 4.
    private var pingAt: Int64?
    /// Time at which the client counts as gone.
    private var goneAt: Int64?
    /// The reason for which the connection ends once the client has the waiting packets; `nil` = it goes on.
    private var lastReason: End?

    private static let millisecond: Int64 = 1_000_000
    /// Time between two packets that end a `GET` during an upgrade, and the time by which the owner may be late.
    static let grain = 100 * millisecond
    /// Time for a client to fetch the last packets.
    static let fetchTime = 5000 * millisecond

    /// Begins a connection. The handshake is the first packet that the client receives.
    ///
    /// - Parameters:
    ///   - id: Identifier of the connection, which others cannot guess.
    ///   - socket: WebSocket of the handshake; `nil` = polling.
    public init(
        id: String, version: EngineIOVersion, socket: Number?, settings: EngineIOSettings, now: Int64
    ) {
        self.version = version
        self.settings = settings
        self.socket = socket
        switch version {
        case .four: pingAt = now + Int64(settings.pingInterval) * Self.millisecond
        case .three: goneAt = now + silenceOfThree
        }
        let upgrades = socket == nil ? #"["websocket"]"# : "[]"
        let timeout = version == .four ? settings.pingTimeout : settings.pingTimeoutOfThree
        let payload = version == .four ? #","maxPayload":\#(settings.limits.payload)"# : ""
        let open = EngineIOPacket.open(
            #"{"sid":"\#(id)","upgrades":\#(upgrades),"pingInterval":\#(settings.pingInterval),"#
                + #""pingTimeout":\#(timeout)\#(payload)}"#)
        queue = [open]
        queuedBytes = open.size
    }

    private var silenceOfThree: Int64 {
        Int64(settings.pingInterval + settings.pingTimeoutOfThree) * Self.millisecond
    }

    public var transport: EngineIOTransport { socket == nil ? .polling : .webSocket }

    /// Time at which `tick` must be called.
    public var deadline: Int64? {
        guard !isOver else { return nil }
        let release = held == nil ? nil : probe?.releaseAt
        return [pingAt, goneAt, probe?.until, release].compactMap { $0 }.min()
    }

    // MARK: Sending

    /// Sends the waiting packets over the WebSocket of the handshake.
    public mutating func start() -> [Action] {
        guard let socket, !isOver else { return [] }
        return [.write(socket, takeQueue())]
    }

    public mutating func send(_ messages: [EngineIOMessage]) -> [Action] { send(messages.map { .message($0) }) }

    private mutating func send(_ packets: [EngineIOPacket]) -> [Action] {
        guard !isOver else { return [] }
        // Before `start`, the handshake comes first.
        if let socket, queue.isEmpty { return [.write(socket, packets)] }
        queue += packets
        queuedBytes = packets.reduce(queuedBytes) { $0 + $1.size }
        guard queuedBytes <= settings.limits.bufferedBytes, queue.count <= settings.limits.bufferedPackets else {
            return end(.overflow)
        }
        guard let get = held else { return [] }
        held = nil
        return [.answer(get, takeQueue())]
    }

    private mutating func takeQueue() -> [EngineIOPacket] {
        defer { (queue, queuedBytes) = ([], 0) }
        return queue
    }

    // MARK: Polling

    /// Handles a `GET`, which waits if there is nothing to send.
    public mutating func poll(_ get: Number, now: Int64) -> [Action] { tick(now: now) + poll(get) }

    private mutating func poll(_ get: Number) -> [Action] {
        guard !isOver else { return [.refuse(get, .unknownSession)] }
        guard socket == nil else { return [.refuse(get, .badRequest)] }
        guard held == nil else { return [.refuse(get, .badRequest)] + end(.protocolError) }
        guard queue.isEmpty else {
            guard let lastReason else { return [.answer(get, takeQueue())] }
            return [.answer(get, takeQueue() + [.close])] + end(lastReason)
        }
        held = get
        return []
    }

    /// Ends the connection if a waiting `GET` has lost its client. The `GET` is still answered, because its handler
    /// waits for the answer.
    public mutating func lostPoll(_ get: Number) -> [Action] { held == get ? end(.connectionLost) : [] }

    /// Handles a `POST` before its body is read.
    ///
    /// - Returns: No actions if the body may be read.
    public mutating func beginPost(_ post: Number, now: Int64) -> [Action] { tick(now: now) + beginPost(post) }

    private mutating func beginPost(_ post: Number) -> [Action] {
        guard !isOver else { return [.refuse(post, .unknownSession)] }
        guard socket == nil else { return [.refuse(post, .badRequest)] }
        guard posting == nil else { return [.refuse(post, .badRequest)] + end(.protocolError) }
        posting = post
        return []
    }

    /// Handles the packets of a `POST`.
    ///
    /// - Parameter packets: `nil` if the body is not a payload.
    public mutating func endPost(_ post: Number, _ packets: [EngineIOPacket]?, now: Int64) -> [Action] {
        guard posting == post, !isOver else { return [.refuse(post, .badRequest)] }
        posting = nil
        guard let packets else { return [.refuse(post, .badRequest)] + end(.protocolError) }
        var actions: [Action] = []
        var answer = Action.accept(post)
        for packet in packets where !isOver {
            actions += receive(packet, now)
            if actions.last == .end(.protocolError) { answer = .refuse(post, .badRequest) }
        }
        return actions + [answer]
    }

    /// Abandons a `POST` whose body could not be read.
    public mutating func abandonPost(_ post: Number) {
        if posting == post { posting = nil }
    }

    // MARK: WebSockets

    /// Handles a further WebSocket, to which the client wants to change.
    public mutating func attach(_ new: Number, now: Int64) -> [Action] {
        guard !isOver, socket == nil, probe == nil else { return [.shut(new)] }
        probe = Probe(socket: new, until: now + Int64(settings.upgradeTimeout) * Self.millisecond)
        return []
    }

    /// - Parameter packet: `nil` if the frame is not a packet.
    public mutating func receive(_ packet: EngineIOPacket?, from source: Number, now: Int64) -> [Action] {
        guard !isOver else { return [] }
        if source == socket { return packet.map { receive($0, now) } ?? end(.protocolError) }
        guard var probe, probe.socket == source else { return [.shut(source)] }
        switch packet {
        case .ping("probe") where probe.releaseAt == nil:
            probe.releaseAt = now + Self.grain
            self.probe = probe
            return [.write(source, [.pong("probe")])] + release()
        case .upgrade where probe.releaseAt != nil:
            let actions = release()
            (socket, self.probe) = (source, nil)
            let sent = queue.isEmpty ? actions : actions + [.write(source, takeQueue())]
            guard let lastReason else { return sent }
            return sent + end(lastReason)
        default:
            self.probe = nil
            return [.shut(source)]
        }
    }

    public mutating func closed(_ source: Number) -> [Action] {
        guard !isOver else { return [] }
        if source == socket { return end(.connectionLost) }
        if source == probe?.socket { probe = nil }
        return []
    }

    /// Ends the client's `GET`. During an upgrade, the client does not send another one.
    private mutating func release() -> [Action] {
        guard let get = held else { return [] }
        held = nil
        return [.answer(get, [.noop])]
    }

    // MARK: Packets

    private mutating func receive(_ packet: EngineIOPacket, _ now: Int64) -> [Action] {
        guard lastReason == nil || packet == .close else { return [] }
        switch packet {
        case .message(let message): return [.deliver(message)]
        case .pong where version == .four:
            goneAt = nil
            pingAt = now + Int64(settings.pingInterval) * Self.millisecond
            return []
        case .ping(let data) where version == .three:
            goneAt = now + silenceOfThree
            return send([.pong(data)])
        case .ping, .pong: return end(.protocolError)
        case .close: return end(.clientClosed)
        case .open, .upgrade, .noop: return []
        }
    }

    // MARK: Time and end

    public mutating func tick(now: Int64) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        if let at = pingAt, at <= now {
            pingAt = nil
            // The time for the answer does not depend on when the owner checks. A long pause is not the client's fault.
            goneAt = now - min(now - at, Self.grain) + Int64(settings.pingTimeout) * Self.millisecond
            actions += send([.ping("")])
        }
        if let goneAt, goneAt <= now { return actions + end(lastReason ?? .pingTimeout) }
        if let probe, probe.until <= now {
            self.probe = nil
            actions.append(.shut(probe.socket))
        }
        if let releaseAt = probe?.releaseAt, releaseAt <= now {
            probe?.releaseAt = now + Self.grain
            actions += release()
        }
        return actions
    }

    /// Ends the connection once the client has the waiting packets, which a client that polls must fetch within 5 s.
    /// Nothing that it sends is delivered any more.
    public mutating func finish(_ reason: End, now: Int64) -> [Action] {
        guard !isOver, !queue.isEmpty else { return end(reason) }
        (lastReason, pingAt, goneAt) = (reason, nil, now + Self.fetchTime)
        return []
    }

    /// Ends the connection. Clients connect again unless they ended it themselves.
    public mutating func end(_ reason: End) -> [Action] {
        guard !isOver else { return [] }
        isOver = true
        var actions: [Action] = []
        if let get = held { actions.append(.answer(get, [reason == .clientClosed ? .noop : .close])) }
        actions += [socket, probe?.socket].compactMap { $0.map { .shut($0) } }
        (held, socket, probe, queue, queuedBytes) = (nil, nil, nil, [], 0)
        return actions + [.end(reason)]
    }
}
