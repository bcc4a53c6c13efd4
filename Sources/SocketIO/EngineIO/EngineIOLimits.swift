/// Bounds of one connection.
public struct EngineIOLimits: Hashable, Sendable {
    /// Maximum size of a client's payload or message, in bytes, which clients are told.
    public var payload = 1_000_000
    /// Maximum number of packets in a payload.
    public var packets = 1000
    /// Maximum size of what waits for a client that polls, in bytes. A connection with more is closed.
    public var bufferedBytes = 1 << 20
    /// Maximum number of packets that wait for a client that polls.
    public var bufferedPackets = 4096

    public init() {}
}

/// Times of a connection, in ms, and its bounds.
public struct EngineIOSettings: Hashable, Sendable {
    /// Time between two pings.
    public var pingInterval = 25_000
    /// Time for an answer to a ping in version 4; what is added to the interval in version 3.
    public var pingTimeout = 20_000
    /// Clients of version 3 divide it by the interval and round down: 0 would be no patience at all.
    public var pingTimeoutOfThree = 60_000
    /// Time for the change from polling to a WebSocket.
    public var upgradeTimeout = 10_000
    public var limits = EngineIOLimits()

    public init() {}
}
