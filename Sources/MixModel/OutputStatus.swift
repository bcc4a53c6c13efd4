/// How a relay gets on with one output.
public struct OutputStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// It has not been live yet, and nothing has gone wrong.
        case connecting
        /// The server takes the program.
        case live
        /// Something went wrong; it is tried again by itself.
        case recovering
        /// It is not tried any more unless somebody asks for it.
        case failed
    }
    public var id: OutputID
    public var state: State
    /// Seconds since 1970.
    public var connectedSince: Double?
    /// Connections made after the first one.
    public var reconnects: Int
    /// FLV bytes handed to the connection.
    public var bytesSent: Int64
    /// Redacted. It stays when all is well again.
    public var lastError: String?
    /// What `lastError` is about, for programs.
    public var lastErrorCode: OutputErrorCode?
    /// Frames that this destination did not get because it was too slow or away; `nil` from relays of an earlier release.
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

/// What is wrong with a destination. Open-ended: a relay may be of a later release than who reads it.
public struct OutputErrorCode: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }

    /// The URL is none that can be pushed to.
    public static let badURL = OutputErrorCode(rawValue: "bad_url")
    /// Its address is none that `outputs.allow` allows.
    public static let notAllowed = OutputErrorCode(rawValue: "not_allowed")
    /// The host's name has no address, or no name server tells it.
    public static let unresolvable = OutputErrorCode(rawValue: "unresolvable")
    /// Nobody listens there.
    public static let connectionRefused = OutputErrorCode(rawValue: "connection_refused")
    /// There is no way to the address.
    public static let unreachable = OutputErrorCode(rawValue: "unreachable")
    /// Nothing answers.
    public static let timeout = OutputErrorCode(rawValue: "timeout")
    /// TLS cannot be agreed upon, or the certificate is not to be trusted.
    public static let tlsFailed = OutputErrorCode(rawValue: "tls_failed")
    /// What answers does not speak RTMP, or breaks it.
    public static let protocolError = OutputErrorCode(rawValue: "protocol_error")
    /// The server lets nobody into the application: it has none of that name, or wants another key.
    public static let applicationRefused = OutputErrorCode(rawValue: "application_refused")
    /// The server does not take the stream: a wrong key, or somebody else publishes under that name.
    public static let publishRefused = OutputErrorCode(rawValue: "publish_refused")
    /// The connection was there and ended.
    public static let connectionLost = OutputErrorCode(rawValue: "connection_lost")
    /// The connection is there, but the server takes nothing more.
    public static let wedged = OutputErrorCode(rawValue: "wedged")

    public static let all: [OutputErrorCode] = [
        .badURL, .notAllowed, .unresolvable, .connectionRefused, .unreachable, .timeout, .tlsFailed, .protocolError,
        .applicationRefused, .publishRefused, .connectionLost, .wedged,
    ]
}
