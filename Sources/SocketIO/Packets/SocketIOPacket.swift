import TextFormats

/// A packet of Socket.IO: protocol 4 above Engine.IO 3, and 5 above Engine.IO 4.
public struct SocketIOPacket: Hashable, Sendable {
    /// The type of a packet. Events and acknowledgements with attachments have their own types on the wire.
    public enum Kind: Int, Hashable, Sendable {
        case connect = 0
        case disconnect = 1
        case event = 2
        case ack = 3
        case connectError = 4
    }

    public static let mainNamespace = "/"

    public var kind: Kind
    public var namespace: String
    /// Number that links an acknowledgement to its event.
    public var id: Int?
    public var data: JSONValue?
    /// Bytes for which `data` contains placeholders: `{"_placeholder":true,"num":0}`.
    public var attachments: [[UInt8]]

    public init(
        _ kind: Kind, namespace: String = mainNamespace, id: Int? = nil, data: JSONValue? = nil,
        attachments: [[UInt8]] = []
    ) {
        self.kind = kind
        self.namespace = namespace
        self.id = id
        self.data = data
        self.attachments = attachments
    }

    /// Creates an event.
    public init(
        event name: String, _ arguments: [JSONValue] = [], attachments: [[UInt8]] = [],
        namespace: String = mainNamespace
    ) {
        self.init(
            .event, namespace: namespace, data: .array([.string(name)] + arguments), attachments: attachments)
    }

    /// The messages of a packet: its text, and its attachments.
    public var messages: [EngineIOMessage] {
        var bytes: [UInt8] = []
        bytes += "\(kind.rawValue + (attachments.isEmpty ? 0 : 3))".utf8
        if !attachments.isEmpty { bytes += "\(attachments.count)-".utf8 }
        if namespace != Self.mainNamespace { bytes += "\(namespace),".utf8 }
        if let id { bytes += "\(id)".utf8 }
        if let data { JSONText.append(data, to: &bytes) }
        return [.text(String(decoding: bytes, as: UTF8.self))] + attachments.map { .binary($0) }
    }
}

/// An event from a client.
public struct SocketIOEvent: Hashable, Sendable {
    public var name: String
    public var arguments: [JSONValue]
    public var attachments: [[UInt8]]
    /// Number under which the client expects an acknowledgement.
    public var id: Int?

    /// Returns the bytes that a placeholder represents, or `nil` if the value is not a placeholder.
    public func attachment(of value: JSONValue) -> [UInt8]? {
        SocketIOReader.placeholder(value).flatMap { attachments.indices.contains($0) ? attachments[$0] : nil }
    }
}

/// The acknowledgement of an event.
public struct SocketIOReply: Hashable, Sendable {
    public var arguments: [JSONValue]
    /// Bytes for which the arguments contain placeholders.
    public var attachments: [[UInt8]]

    public init(_ arguments: [JSONValue] = [], attachments: [[UInt8]] = []) {
        self.arguments = arguments
        self.attachments = attachments
    }
}

/// The limits of packets.
public struct SocketIOLimits: Hashable, Sendable {
    public var attachments = 10
    /// Maximum size of a packet including its attachments, in bytes.
    public var bytes = 1_000_000
    /// Maximum length of a namespace's name, in bytes.
    public var namespace = 128

    public init() {}
}
