import MixModel
import SocketIO
import Synchronization

/// A client in a namespace. Thread-safe.
package final class SocketIOSocket: Sendable {
    /// Public identifier: it does not allow others to act in the client's name.
    package let id: String
    package let namespace: String
    /// The app of the client's rooms.
    package let app: AppID
    /// IP address of the other end, which may be a proxy's.
    package let address: String
    let caller: Caller
    private let session: SocketIOSession
    private let rooms: SocketIORooms

    init(id: String, namespace: String, caller: Caller, session: SocketIOSession, rooms: SocketIORooms) {
        self.id = id
        self.namespace = namespace
        self.caller = caller
        app = caller.app
        address = session.address
        self.session = session
        self.rooms = rooms
    }

    /// Sends a packet, unless the client has left. A client that reads too slowly is disconnected.
    package func emit(_ packet: SocketIOPacket) { emit(packet.messages) }

    /// Sends the messages of a packet of this namespace, which several clients may share.
    ///
    /// - Returns: False if the client has left.
    @discardableResult package func emit(_ messages: [EngineIOMessage]) -> Bool {
        session.send(messages, in: namespace)
    }

    /// Puts the client into a room of its app.
    ///
    /// - Returns: False if it is in too many.
    @discardableResult package func join(_ room: String) -> Bool { rooms.join(self, key(room)) }

    package func leave(_ room: String) { rooms.leave(self, key(room)) }

    package func isIn(_ room: String) -> Bool { rooms.contains(self, key(room)) }

    /// Sends a packet to all clients in a room of the client's app and namespace, encoded once.
    package func emit(_ packet: SocketIOPacket, to room: String) { rooms.emit(packet.messages, to: key(room)) }

    /// Disconnects the client from the namespace.
    package func disconnect() { session.disconnect(namespace) }

    private func key(_ room: String) -> SocketIORooms.Key {
        SocketIORooms.Key(namespace: namespace, room: RoomID(app: app, name: room))
    }
}
