import MixModel
import TextFormats

extension PublisherSessions {
    /// The stream that an event concerns, at one kind of server.
    struct Subject: Sendable {
        var hook: String
        var room: RoomID
        var source: SourceID
        var user: UserID
        var stream: StreamKind

        init(hook: String, room: RoomID, user: UserID, stream: StreamKind) {
            (self.hook, self.room, self.user, self.stream) = (hook, room, user, stream)
            source = SourceID(user: user, stream: stream)
        }

        /// Returns `nil` for an event that concerns no stream.
        init?(_ event: HookEvent, _ hook: String) {
            switch event.kind {
            case .streamPublished(let publication):
                self.init(hook: hook, room: event.room, user: publication.user, stream: publication.stream)
            case .streamUnpublished(let user, let stream, _):
                self.init(hook: hook, room: event.room, user: user, stream: stream)
            default: return nil
            }
        }

        // No identifier of a room, a user or a hook contains a space.
        var key: UTF8Key { UTF8Key("\(hook) \(room.rawValue) \(source.rawValue)") }
    }

    /// A connection, by its identifier at the media server and the address from which the server calls.
    ///
    /// Statistics do not provide that address, and not always the identifier; an unknown part matches anything.
    struct SessionName: Hashable, Sendable {
        var id: String
        /// Address of the server; `nil` if unknown.
        var peer: String?

        init(_ id: String, _ peer: String) {
            self.id = id
            self.peer = peer.isEmpty ? nil : peer
        }

        func isSame(as other: SessionName) -> Bool {
            (id.isEmpty || other.id.isEmpty || id.hasSameUTF8(as: other.id))
                && (peer == nil || other.peer == nil || peer == other.peer)
        }

        /// Returns the name, completed with the known parts of another name of the same connection.
        func completed(by other: SessionName) -> SessionName {
            SessionName(id.isEmpty ? other.id : id, peer ?? other.peer ?? "")
        }
    }
}
