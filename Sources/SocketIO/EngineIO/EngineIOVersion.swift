/// A version of the Engine.IO protocol: 4 since Socket.IO 3, and 3 before.
public enum EngineIOVersion: Int, Hashable, Sendable {
    case three = 3
    case four = 4
}

/// A connection's transport.
public enum EngineIOTransport: String, Hashable, Sendable, CaseIterable {
    case polling
    case webSocket = "websocket"
}
