import EventSubscription
import MixModel
import RoomChannel
import RoomService
import SocketIO
import Synchronization

/// The events of apps for live rooms (`create_room`, `join_room`, `comment`, `upvote`, `gift`, …) mapped to the rooms'
/// channels: messages sent here are received over every other interface of the channel, and vice versa.
///
/// A client must be in a room to write in it, and only the client that has opened a room may close it. Refusals are
/// acknowledged, or sent as the event `refused` if the client does not ask for an acknowledgement.
package final class SocketIORoomHandler: SocketIOHandler {
    private struct Client {
        var viewers: [RoomID: ChannelViewer.ID] = [:]
        var opened: Set<RoomID> = []
        var user: UserID
        var name: String?
        let isModerator: Bool
    }

    private let channels: RoomChannels
    private let anonymousWriting: Bool
    private let clients = Mutex<[String: Client]>([:])
    /// The notice that was encoded last, since all viewers of a room get it one after another.
    private let last = Mutex<(delivery: ChannelDelivery, messages: [EngineIOMessage])?>(nil)

    /// Maximum numbers of rooms that a client follows, and that it has opened.
    private static let mostRooms = 20
    private static let mostOpened = 5
    /// Maximum number of rooms in a list.
    static let mostListed = 1000

    /// - Parameter anonymousWriting: Whether clients without a token may write although there are tokens.
    package init(channels: RoomChannels, anonymousWriting: Bool) {
        self.channels = channels
        self.anonymousWriting = anonymousWriting
    }

    package func connected(_ socket: SocketIOSocket, auth: JSONValue?) async {
        // Clients without a name are distinguished by one that lasts as long as the connection.
        var client = Client(
            user: socket.caller.user ?? UserID("guest-\(socket.id)"),
            isModerator: socket.caller.token != nil && socket.caller.scopes.contains(.tasks))
        if case .object(let fields)? = auth {
            if case .string(let name)? = fields["name"] { client.name = Self.kept(name) }
            if socket.caller.user == nil, socket.caller.scopes.contains(.chat),
                case .string(let user)? = fields["user"],
                let user = try? EventParser.identifier(user, field: "user")
            {
                client.user = UserID(user)
            }
        }
        clients.withLock { $0[socket.id] = client }
    }

    /// Returns the part of a client's name that is kept. The rules of channels still refuse what was too long.
    static func kept(_ name: String) -> String {
        String(decoding: name.utf8.prefix(ChannelRules.longestName.bytes + 1), as: UTF8.self)
    }

    package func received(_ event: SocketIOEvent, from socket: SocketIOSocket) async -> SocketIOReply {
        do {
            guard let call = try SocketIORoomCall(event) else { return SocketIOReply() }
            return SocketIOReply([.object(try await perform(call, socket).merging(["ok": .boolean(true)]) { $1 })])
        } catch {
            let fields: [String: JSONValue] = [
                "ok": .boolean(false), "code": .string(error.code), "message": .string(error.detail),
            ]
            if event.id == nil {
                socket.emit(
                    SocketIOPacket(event: "refused", [.object(fields.merging(["event": .string(event.name)]) { $1 })]))
            }
            return SocketIOReply([.object(fields)])
        }
    }

    package func disconnected(_ socket: SocketIOSocket, by end: EngineSession.End?) async {
        guard let client = clients.withLock({ $0.removeValue(forKey: socket.id) }) else { return }
        for (room, viewer) in client.viewers { await channels.leave(room, viewer) }
        // Rooms outlive a restart of the service: the clients that opened them reconnect.
        guard end != .serviceClosed else { return }
        for room in client.opened where !isHeld(room, besides: client) {
            try? await channels.close(room, by: sender(client, socket))
        }
    }

    /// Returns whether another client that may close the room has opened it, too. Usually it is the same user's: the end of a
    /// lost connection is noticed after its client has connected again.
    private func isHeld(_ room: RoomID, besides client: Client) -> Bool {
        clients.withLock { clients in
            clients.values.contains { other in
                other.opened.contains(room) && (other.isModerator || other.user == client.user)
            }
        }
    }

    /// Returns an app's live rooms.
    func rooms(of app: AppID) async -> [RoomChannels.Listed] {
        await channels.liveRooms(of: app, limit: Self.mostListed)
    }

    // MARK: Calls

    private func perform(
        _ call: SocketIORoomCall, _ socket: SocketIOSocket
    ) async throws(OrchestratorError) -> [String: JSONValue] {
        guard let client = clients.withLock({ $0[socket.id] }) else { return [:] }
        switch call {
        case .open(let name, let title):
            let room = RoomID(app: socket.app, name: name)
            guard !socket.caller.scopes.isDisjoint(with: [.publish, .tasks]) else {
                throw Self.forbidden("open a room", "a token with the scope publish or tasks")
            }
            guard client.opened.contains(room) || client.opened.count < Self.mostOpened else {
                throw Self.tooMany("has opened \(Self.mostOpened) rooms")
            }
            try await channels.open(room, title: title, by: sender(client, socket))
            clients.withLock { _ = $0[socket.id]?.opened.insert(room) }
            return try await join(room, client, socket)
        case .close(let name):
            let room = RoomID(app: socket.app, name: name)
            // Clients in the room receive `ended` from its channel, and then `room_closed`.
            try await channels.close(room, by: sender(client, socket))
            clients.withLock { clients in
                for id in clients.keys { clients[id]?.opened.remove(room) }
            }
            return [:]
        case .join(let name): return try await join(RoomID(app: socket.app, name: name), client, socket)
        case .leave(let name):
            let room = RoomID(app: socket.app, name: name)
            let viewer = clients.withLock { $0[socket.id]?.viewers.removeValue(forKey: room) }
            if let viewer { await channels.leave(room, viewer) }
            socket.leave(name)
            return [:]
        case .send(let name, let draft):
            let room = RoomID(app: socket.app, name: name)
            guard socket.caller.scopes.contains(.chat) || anonymousWriting && socket.caller.token == nil else {
                throw Self.forbidden("write", "a token with the scope chat, or channel.anonymousWriting: true")
            }
            guard client.viewers[room] != nil else {
                throw OrchestratorError(
                    .forbidden, "room-not-joined", "The client is not in the room",
                    detail: "join_room comes before anything that is sent to a room", field: "roomKey")
            }
            let message = try await channels.send(draft, to: room, from: sender(client, socket))
            return ["id": .number(Double(message.id))]
        }
    }

    private func join(
        _ room: RoomID, _ client: Client, _ socket: SocketIOSocket
    ) async throws(OrchestratorError) -> [String: JSONValue] {
        guard client.viewers[room] == nil else { return [:] }
        guard client.viewers.count < Self.mostRooms else { throw Self.tooMany("is in \(Self.mostRooms) rooms") }
        let welcome = try await channels.join(
            room, ChannelViewer(address: socket.address),
            deliver: { [self] delivery in socket.emit(messages(delivery, room)) },
            end: { [self] in
                // The client may join again.
                clients.withLock { _ = $0[socket.id]?.viewers.removeValue(forKey: room) }
                socket.leave(room.name)
            })
        clients.withLock { $0[socket.id]?.viewers[room] = welcome.viewer }
        socket.join(room.name)
        return [
            "messages": .array(welcome.messages.map { Self.value($0) }),
            "viewers": .number(Double(welcome.state.audience.count)), "isLive": .boolean(welcome.state.isLive),
            "title": welcome.state.title.map { .string($0) } ?? .null,
        ]
    }

    private static func value(_ message: ChannelMessage) -> JSONValue {
        .object(SocketIORoomNotice.fields(message).merging(["kind": .string(message.kind.rawValue)]) { $1 })
    }

    private func sender(_ client: Client, _ socket: SocketIOSocket) -> ChannelSender {
        ChannelSender(
            user: client.user, name: client.name, address: socket.address, isModerator: client.isModerator)
    }

    private func messages(_ delivery: ChannelDelivery, _ room: RoomID) -> [EngineIOMessage] {
        last.withLock { last in
            if let last, last.delivery === delivery { return last.messages }
            let messages = SocketIORoomNotice.packet(delivery.notice, room: room.name).messages
            last = (delivery, messages)
            return messages
        }
    }

    private static func forbidden(_ what: String, _ expected: String) -> OrchestratorError {
        OrchestratorError(
            .forbidden, "scope-missing", "The client may not \(what)",
            detail: "to \(what) requires \(expected)", expected: expected)
    }

    private static func tooMany(_ what: String) -> OrchestratorError {
        OrchestratorError(
            .exhausted, "too-many-rooms", "The client has too many rooms",
            detail: "the client \(what), which is the limit")
    }
}
