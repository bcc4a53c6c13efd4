import EventSubscription
import SocketIO

/// What an app does with the events of its clients. One instance serves all of them.
///
/// The calls for one client come one after another, and before the client's next packet is read: one that takes long slows down
/// this client only.
package protocol SocketIOHandler: Sendable {
    /// Namespaces that clients may connect to.
    var namespaces: Set<String> { get }

    /// Takes a client that has been let in. What it is sent from here on comes after the answer to its request.
    func connected(_ socket: SocketIOSocket, auth: JSONValue?) async

    /// Takes an event.
    ///
    /// - Returns: The acknowledgement, if the client wants one.
    func received(_ event: SocketIOEvent, from socket: SocketIOSocket) async -> SocketIOReply

    /// Takes the end of a client that was connected. It is in no room any more.
    ///
    /// - Parameter end: Why its connection is over; `nil` if it has only left the namespace.
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
}
