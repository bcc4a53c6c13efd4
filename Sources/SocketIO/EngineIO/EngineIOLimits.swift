/// The limits of one connection.
public struct EngineIOLimits: Hashable, Sendable {
    /// Maximum size of a client's payload or message, in bytes. It is announced to clients.
    public var payload = 1_000_000
    /// Maximum number of packets in a payload.
    public var packets = 1000
    /// Maximum size of the data that waits for a polling client, in bytes. A connection with more is closed.
    public var bufferedBytes = 1 << 20
    /// Maximum number of packets that wait for a polling client.
    public var bufferedPackets = 4096

    public init() {}
}

/// Times of a connection, in ms, and its limits.
public struct EngineIOSettings: Hashable, Sendable {
    /// Time between two pings.
    public var pingInterval = 25_000
    /// Time within which a ping must be answered in version 4; added to the interval in version 3.
    public var pingTimeout = 20_000
    /// The `pingTimeout` announced to clients of version 3, which divide it by the interval and round down: 0 would
    /// mean no tolerance at all.
    public var pingTimeoutOfThree = 60_000
    /// Time within which the change from polling to a WebSocket must complete.
    public var upgradeTimeout = 10_000
    public var limits = EngineIOLimits()

    public init() {}
}
