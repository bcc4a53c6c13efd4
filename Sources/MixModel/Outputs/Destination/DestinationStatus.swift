/// The state of one destination of a relay.
public struct DestinationStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// The output has not been live yet, and nothing has gone wrong.
        case connecting
        /// The server accepts the program.
        case live
        /// The output failed and is retried automatically.
        case recovering
        /// The output was given up and is retried only on request.
        case failed
    }
    public var id: OutputID
    public var state: State
    /// Start of the current connection, in seconds since 1970.
    public var connectedSince: Double?
    /// Number of connections made after the first one.
    public var reconnects: Int
    /// Number of FLV bytes handed to the connection.
    public var bytesSent: Int64
    /// Last failure, redacted. Kept after the output has recovered.
    public var lastError: String?
    /// Machine-readable code of `lastError`.
    public var lastErrorCode: OutputErrorCode?
    /// Number of frames not delivered because the destination was too slow or disconnected; `nil` from relays of an
    /// earlier release.
    public var droppedFrames: Int?

    public init(
        id: OutputID, state: State, connectedSince: Double? = nil, reconnects: Int = 0, bytesSent: Int64 = 0,
        lastError: String? = nil, lastErrorCode: OutputErrorCode? = nil, droppedFrames: Int? = nil
    ) {
        self.id = id
        self.state = state
        self.connectedSince = connectedSince
        self.reconnects = reconnects
        self.bytesSent = bytesSent
        self.lastError = lastError
        self.lastErrorCode = lastErrorCode
        self.droppedFrames = droppedFrames
    }
}

/// A code for the failure of a destination. Open-ended: a relay may be of a later release than its reader.
public struct OutputErrorCode: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// The URL cannot be pushed to.
    public static let badURL = OutputErrorCode(rawValue: "bad_url")
    /// The address is not allowed by `outputs.allow`.
    public static let notAllowed = OutputErrorCode(rawValue: "not_allowed")
    /// The host name has no address, or no name server resolves it.
    public static let unresolvable = OutputErrorCode(rawValue: "unresolvable")
    /// No server listens at the address.
    public static let connectionRefused = OutputErrorCode(rawValue: "connection_refused")
    /// No route leads to the address.
    public static let unreachable = OutputErrorCode(rawValue: "unreachable")
    /// The server does not answer.
    public static let timeout = OutputErrorCode(rawValue: "timeout")
    /// TLS cannot be negotiated, or the certificate is not trusted.
    public static let tlsFailed = OutputErrorCode(rawValue: "tls_failed")
    /// The server does not speak RTMP, or violates the protocol.
    public static let protocolError = OutputErrorCode(rawValue: "protocol_error")
    /// The server refuses the application: it does not have one of that name, or requires another key.
    public static let applicationRefused = OutputErrorCode(rawValue: "application_refused")
    /// The server refuses the stream: the key is wrong, or another publisher uses that name.
    public static let publishRefused = OutputErrorCode(rawValue: "publish_refused")
    /// An established connection ended.
    public static let connectionLost = OutputErrorCode(rawValue: "connection_lost")
    /// The connection is established, but the server accepts no more data.
    public static let wedged = OutputErrorCode(rawValue: "wedged")

    public static let all: [OutputErrorCode] = [
        .badURL, .notAllowed, .unresolvable, .connectionRefused, .unreachable, .timeout, .tlsFailed, .protocolError,
        .applicationRefused, .publishRefused, .connectionLost, .wedged,
    ]
}
