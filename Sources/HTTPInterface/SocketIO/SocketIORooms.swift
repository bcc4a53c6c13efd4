import MixModel
import SocketIO
import Synchronization

/// The membership of clients in rooms. Thread-safe.
final class SocketIORooms: Sendable {
    struct Key: Hashable, Sendable {
        let namespace: String
        let room: RoomID
    }

    fileprivate struct State {
        var members: [Key: [String: SocketIOSocket]] = [:]
        var ofSockets: [String: Set<Key>] = [:]
    }

    private let state = Mutex(State())

    /// Maximum number of rooms of one client.
    static let mostRooms = 100

    func join(_ socket: SocketIOSocket, _ key: Key) -> Bool {
        state.withLock { state in
            var rooms = state.ofSockets[socket.id, default: []]
            guard rooms.contains(key) || rooms.count < Self.mostRooms else { return false }
            rooms.insert(key)
            state.ofSockets[socket.id] = rooms
            state.members[key, default: [:]][socket.id] = socket
            return true
        }
    }

    func leave(_ socket: SocketIOSocket, _ key: Key) {
        state.withLock { state in
            state.ofSockets[socket.id]?.remove(key)
            if state.ofSockets[socket.id]?.isEmpty == true { state.ofSockets[socket.id] = nil }
            state.remove(socket, key)
        }
    }

    func leaveAll(_ socket: SocketIOSocket) {
        state.withLock { state in
            for key in state.ofSockets.removeValue(forKey: socket.id) ?? [] { state.remove(socket, key) }
        }
    }

    func contains(_ socket: SocketIOSocket, _ key: Key) -> Bool {
        state.withLock { $0.ofSockets[socket.id]?.contains(key) ?? false }
    }

    func emit(_ messages: [EngineIOMessage], to key: Key) {
        let members = state.withLock { state in state.members[key].map { Array($0.values) } ?? [] }
        for member in members { member.emit(messages) }
    }

    /// Number of rooms with a client.
    var count: Int { state.withLock { $0.members.count } }
}

extension SocketIORooms.State {
    fileprivate mutating func remove(_ socket: SocketIOSocket, _ key: SocketIORooms.Key) {
        members[key]?[socket.id] = nil
        if members[key]?.isEmpty == true { members[key] = nil }
    }
}
