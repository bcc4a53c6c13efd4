import TextFormats

/// The namespaces to which one client is connected: the server's reaction to each packet.
///
/// A value without clock or socket, above `EngineSession`. Times are nanoseconds of any monotonic clock.
public struct SocketIOConnection: Sendable {
    public enum Action: Hashable, Sendable {
        case send([EngineIOMessage])
        /// Asks whether the client may connect, with the data that it sent about itself. `accept` or `refuse` must
        /// follow.
        case admit(namespace: String, auth: JSONValue?)
        case event(namespace: String, SocketIOEvent)
        /// The client has left a namespace.
        case left(namespace: String)
        /// Closes the connection: the client violated a rule, or did not connect in time.
        case close
    }

    private enum State: Hashable {
        case asking
        case connected
    }

    private let version: EngineIOVersion
    private let namespaces: Set<String>
    private var reader: SocketIOReader
    private var states: [String: State] = [:]
    private var isOver = false
    /// Time by which the client must be connected.
    private var connectBy: Int64?

    /// - Parameters:
    ///   - namespaces: Namespaces to which clients may connect.
    ///   - connectTimeout: Time within which a client must connect, in ms.
    public init(
        version: EngineIOVersion, namespaces: Set<String> = [SocketIOPacket.mainNamespace],
        connectTimeout: Int = 45_000, limits: SocketIOLimits = SocketIOLimits(), now: Int64
    ) {
        self.version = version
        self.namespaces = namespaces
        reader = SocketIOReader(limits: limits)
        connectBy = now + Int64(connectTimeout) * 1_000_000
    }

    /// Time at which `tick` must be called.
    public var deadline: Int64? { connectBy }

    public func isConnected(to namespace: String) -> Bool { states[namespace] == .connected }

    /// Begins the connection. Clients of version 3 are connected to the main namespace without asking.
    public mutating func start() -> [Action] {
        guard version == .three, namespaces.contains(SocketIOPacket.mainNamespace) else { return [] }
        states[SocketIOPacket.mainNamespace] = .asking
        return [.admit(namespace: SocketIOPacket.mainNamespace, auth: nil)]
    }

    public mutating func receive(_ message: EngineIOMessage) -> [Action] {
        guard !isOver else { return [] }
        do {
            return try reader.take(message).map { receive($0) } ?? []
        } catch {
            return close()
        }
    }

    private mutating func receive(_ packet: SocketIOPacket) -> [Action] {
        if packet.kind == .connect { return connect(packet) }
        guard states[packet.namespace] == .connected else { return close() }
        switch packet.kind {
        case .disconnect:
            states[packet.namespace] = nil
            return [.left(namespace: packet.namespace)]
        case .event:
            guard case .array(let elements)? = packet.data, case .string(let name)? = elements.first else { return [] }
            let event = SocketIOEvent(
                name: name, arguments: Array(elements.dropFirst()), attachments: packet.attachments, id: packet.id)
            return [.event(namespace: packet.namespace, event)]
        // The server requests no acknowledgements.
        case .ack: return []
        case .connect, .connectError: return []
        }
    }

    private mutating func connect(_ packet: SocketIOPacket) -> [Action] {
        // Version 3 passes the client's data as a query.
        let name = version == .three ? String(packet.namespace.prefix { $0 != "?" }) : packet.namespace
        guard namespaces.contains(name) else {
            let reason = JSONValue.string("Invalid namespace")
            return [
                .send(
                    SocketIOPacket(
                        .connectError, namespace: name,
                        data: version == .three ? reason : .object(["message": reason])
                    ).messages)
            ]
        }
        // Clients of version 3 may ask although they are already connected.
        guard states[name] == nil else { return [] }
        states[name] = .asking
        return [.admit(namespace: name, auth: packet.data)]
    }

    /// Admits the client to a namespace.
    ///
    /// - Parameter id: Identifier of the client there, which others may see.
    /// - Returns: No actions if the client has left in the meantime.
    public mutating func accept(_ namespace: String, id: String) -> [Action] {
        guard !isOver, states[namespace] == .asking else { return [] }
        states[namespace] = .connected
        connectBy = nil
        let data: JSONValue? = version == .four ? .object(["sid": .string(id)]) : nil
        return [.send(SocketIOPacket(.connect, namespace: namespace, data: data).messages)]
    }

    /// Refuses the client's connection to a namespace.
    public mutating func refuse(_ namespace: String, message: String, data: JSONValue? = nil) -> [Action] {
        guard !isOver, states[namespace] == .asking else { return [] }
        states[namespace] = nil
        var body = JSONValue.string(message)
        switch version {
        case .three: body = data ?? body
        case .four: body = .object(["message": body].merging(data.map { ["data": $0] } ?? [:]) { $1 })
        }
        return [.send(SocketIOPacket(.connectError, namespace: namespace, data: body).messages)]
    }

    /// Returns the answer to an event, if the client requests one and is still connected.
    public func acknowledge(_ event: SocketIOEvent, in namespace: String, _ reply: SocketIOReply) -> [Action] {
        guard let id = event.id, isConnected(to: namespace) else { return [] }
        let packet = SocketIOPacket(
            .ack, namespace: namespace, id: id, data: .array(reply.arguments), attachments: reply.attachments)
        return [.send(packet.messages)]
    }

    /// Disconnects the client from a namespace and notifies it.
    public mutating func disconnect(_ namespace: String) -> [Action] {
        guard states.removeValue(forKey: namespace) == .connected else { return [] }
        return [.send(SocketIOPacket(.disconnect, namespace: namespace).messages), .left(namespace: namespace)]
    }

    public mutating func tick(now: Int64) -> [Action] {
        guard let connectBy, connectBy <= now, !isOver else { return [] }
        return close()
    }

    /// Handles the end of the connection.
    public mutating func ended() -> [Action] {
        isOver = true
        connectBy = nil
        defer { states = [:] }
        return states.filter { $0.value == .connected }.keys.sorted().map { .left(namespace: $0) }
    }

    private mutating func close() -> [Action] {
        isOver = true
        connectBy = nil
        return [.close]
    }
}
