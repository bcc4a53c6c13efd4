import MixModel
import TextFormats

/// An event as parsed by a hook. `PublisherSessions` turns it into an event of the room.
package struct HookEvent: Hashable, Sendable {
    package var room: RoomID
    package var kind: RoomEvent.Kind
    /// Identifier by which the media server recognises repetitions; `nil` if it has none.
    package var id: String?
    /// Order among the server's events about one subject; `nil` if the server provides none.
    package var sequence: UInt64?
    /// Time of the event, in seconds since 1970, in the years 0000 to 9999; `nil` if the server does not provide it.
    package var time: Double?
    /// The publisher's connection, for servers whose events have neither identifiers nor an order.
    package var session: HookSession?
    /// Whether a publication is dropped if the room already has the stream, because the server reports the start of its
    /// audio and of its video separately.
    package var isForAbsentStream = false

    package init(
        room: RoomID, kind: RoomEvent.Kind, id: String? = nil, sequence: UInt64? = nil, time: Double? = nil,
        session: HookSession? = nil
    ) {
        self.room = room
        self.kind = kind
        self.id = id
        self.sequence = sequence
        self.time = Self.usable(time)
        self.session = session
    }

    /// Returns the time if it can be written in messages and converted to whole numbers; servers send any number.
    static func usable(_ time: Double?) -> Double? { time.flatMap { Timestamp.range.contains($0) ? $0 : nil } }
}

/// The connection of a publisher, and the event that happened to it.
package struct HookSession: Hashable, Sendable {
    /// Identifier of the connection at the media server. Unique only until the server restarts.
    package var id: String
    package var step: Step

    package enum Step: Hashable, Sendable {
        case begins
        /// A report that the connection is still there.
        case continues
        case ends
        /// The end of a connection that may have been a player's.
        case mayEnd
    }

    package init(id: String, step: Step) {
        self.id = id
        self.step = step
    }
}
