import TextFormats

/// The namespaces that one client is connected to: what the server does about each packet.
///
/// A value without clock or socket, above `EngineSession`. Times are nanoseconds of any clock that does not go back.
public struct SocketIOConnection: Sendable {
    public enum Action: Hashable, Sendable {
        case send([EngineIOMessage])
        /// Asks whether the client may connect, with what it says of itself. `accept` or `refuse` is the answer.
        case admit(namespace: String, auth: JSONValue?)
        case event(namespace: String, SocketIOEvent)
        /// The client has left a namespace.
        case left(namespace: String)
        /// Closes the connection: the client broke a rule, or did not connect in time.
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
    /// Time by which the client has to be connected.
    private var connectBy: Int64?

    /// - Parameters:
    ///   - namespaces: Those that clients may connect to.
    ///   - connectTimeout: Time for a client of version 4 to connect, in ms.
    public init(
        version: EngineIOVersion, namespaces: Set<String> = [SocketIOPacket.mainNamespace],
        connectTimeout: Int = 45_000, limits: SocketIOLimits = SocketIOLimits(), now: Int64
    ) {
        self.version = version
        self.namespaces = namespaces
        reader = SocketIOReader(limits: limits)
        if version == .four { connectBy = now + Int64(connectTimeout) * 1_000_000 }
    }

    /// Time at which `tick` has something to do.
    public var deadline: Int64? { connectBy }

    public func isConnected(to namespace: String) -> Bool { states[namespace] == .connected }

    /// Begins. Clients of version 3 are connected to the main namespace without asking.
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
        // The server asks for none.
        case .ack: return []
        case .connect, .connectError: return []
        }
    }

    private mutating func connect(_ packet: SocketIOPacket) -> [Action] {
        // Version 3 passes what the client says of itself as a query.
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
        // Clients of version 3 may ask although they are connected.
        guard states[name] == nil else { return [] }
        states[name] = .asking
        return [.admit(namespace: name, auth: packet.data)]
    }

    /// Lets the client into a namespace.
    ///
    /// - Parameter id: Identifier of the client there, which others may see.
    /// - Returns: No actions if it has left meanwhile.
    public mutating func accept(_ namespace: String, id: String) -> [Action] {
        guard !isOver, states[namespace] == .asking else { return [] }
        states[namespace] = .connected
        connectBy = nil
        let data: JSONValue? = version == .four ? .object(["sid": .string(id)]) : nil
        return [.send(SocketIOPacket(.connect, namespace: namespace, data: data).messages)]
    }

    /// Turns the client away from a namespace.
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

    /// Returns the answer to an event, if the client wants one and is still there.
    public func acknowledge(_ event: SocketIOEvent, in namespace: String, _ reply: SocketIOReply) -> [Action] {
        guard let id = event.id, isConnected(to: namespace) else { return [] }
        let packet = SocketIOPacket(
            .ack, namespace: namespace, id: id, data: .array(reply.arguments), attachments: reply.attachments)
        return [.send(packet.messages)]
    }

    /// Ends the client's part in a namespace and tells it.
    public mutating func disconnect(_ namespace: String) -> [Action] {
        guard states.removeValue(forKey: namespace) == .connected else { return [] }
        return [.send(SocketIOPacket(.disconnect, namespace: namespace).messages), .left(namespace: namespace)]
    }

    public mutating func tick(now: Int64) -> [Action] {
        guard let connectBy, connectBy <= now, !isOver else { return [] }
        return close()
    }

    /// Takes the end of the connection.
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
