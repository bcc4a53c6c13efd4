/// A whole message of a WebSocket client.
package enum WebSocketMessage: Hashable, Sendable {
    case text(String)
    case binary([UInt8])
}

/// Limits of one WebSocket connection.
package struct WebSocketLimits: Hashable, Sendable {
    /// Maximum size of a message, and of a frame, in bytes.
    package var message = 256 << 10
    /// Number of messages that may wait for the service. The connection is not read meanwhile.
    package var waiting = 32
    /// Maximum number of bytes that may wait for the client. A client that reads less is disconnected.
    package var outgoing = 1 << 20
    /// Time between two pings, in ms. A client that sends nothing for three times as long is disconnected.
    package var pingInterval = 20_000
    /// Time for a client to answer a close frame, in ms.
    package var closing = 2000

    package init() {}
}
