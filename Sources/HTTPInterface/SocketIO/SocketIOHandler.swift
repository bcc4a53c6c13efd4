import EventSubscription
import SocketIO

/// Handles the events of an app's clients. One instance serves all clients.
///
/// Calls for one client are made one after another, before the client's next packet is read: a slow call delays only
/// this client.
package protocol SocketIOHandler: Sendable {
    /// Namespaces that clients may connect to.
    var namespaces: Set<String> { get }

    /// Handles the arrival of a client that has been admitted. Packets sent to it from here on follow the answer to its
    /// request.
    func connected(_ socket: SocketIOSocket, auth: JSONValue?) async

    /// Handles an event.
    ///
    /// - Returns: The acknowledgement, if the client wants one.
    func received(_ event: SocketIOEvent, from socket: SocketIOSocket) async -> SocketIOReply

    /// Handles the end of a client that was connected. The client has already left all rooms.
    ///
    /// - Parameter end: The reason why its connection has ended; `nil` if the client has only left the namespace.
    func disconnected(_ socket: SocketIOSocket, by end: EngineSession.End?) async
}

extension SocketIOHandler {
    package var namespaces: Set<String> { [SocketIOPacket.mainNamespace] }
    package func connected(_ socket: SocketIOSocket, auth: JSONValue?) async {}
    package func disconnected(_ socket: SocketIOSocket, by end: EngineSession.End?) async {}
}

/// A refusal of a client that wants to connect to a namespace.
struct SocketIORefusal: Error, Hashable, Sendable {
    let message: String
    var data: JSONValue?
    /// Whether there is no place for the client. A connection that is in no namespace then ends.
    var isFull = false
}
