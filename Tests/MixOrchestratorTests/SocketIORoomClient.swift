import TestSupport
import Testing

/// A client of rooms over a WebSocket of Engine.IO 3, in the manner of the old client for Swift.
struct SocketIORoomClient: Sendable {
    let socket: WebSocketClient

    /// Connects, and waits until the client has joined the namespace.
    static func connect(port: Int, _ query: String = "transport=websocket") async throws -> SocketIORoomClient {
        let client = SocketIORoomClient(
            socket: try await WebSocketClient.open(port: port, path: "/socket.io/?\(query)"))
        _ = try await client.next("40")
        return client
    }

    /// Returns the next packet with this prefix, and skips those before it.
    func next(_ beginning: String) async throws -> String {
        while let text = await socket.text() {
            if text.hasPrefix(beginning) { return text }
        }
        Issue.record("the connection ended before \(beginning)")
        return ""
    }

    /// Returns the acknowledgement of an event.
    func call(_ event: String, _ argument: String) async throws -> String {
        await socket.send(text: "421[\"\(event)\",\(argument)]")
        return try await next("431")
    }
}
