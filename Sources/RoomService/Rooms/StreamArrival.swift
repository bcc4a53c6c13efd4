import MixModel
import TextFormats

/// The URL of a stream at an RTMP ingest, in parts. Pure.
package struct IngestStreamURL: Hashable, Sendable {
    /// Host and port of the ingest, as `IngestPlace.text` has them.
    let place: String
    /// The rest, with the code, by which no other ingest has the stream. A secret.
    let path: String

    private static let scheme = "rtmp://"

    /// Reads a URL; `nil` if it is none of a stream at an ingest.
    package init?(_ url: String) {
        guard url.startsInUTF8(with: Self.scheme),
            let parts = String(Substring(url.utf8.dropFirst(Self.scheme.utf8.count))).splitAtFirst("/")
        else { return nil }
        place = String(parts.head)
        path = "/" + parts.tail
        guard Self.name(of: path) != nil else { return nil }
    }

    /// Returns whether it is the stream of this path at another ingest.
    func isElsewhere(than path: String) -> Bool {
        guard !self.path.hasSameUTF8(as: path), let own = Self.name(of: self.path), let name = Self.name(of: path)
        else { return false }
        return own.hasSameUTF8(as: name)
    }

    /// The part of a path that says which stream it is.
    private static func name(of path: String) -> String? {
        guard let parts = path.splitAtFirst("?"), parts.head.startsInUTF8(with: "/relay/"),
            parts.tail.startsInUTF8(with: "relay=")
        else { return nil }
        return String(parts.head)
    }
}

/// The state of a room's stream when an event of it comes from an ingest. Pure.
enum StreamMeeting: Hashable, Sendable {
    case free
    /// The event is the end of a stream that the room has by now from another ingest: a publisher who lost one ingest
    /// may be at another before the first has given up the connection.
    case over
    /// Another ingest has the stream.
    case other(StreamHolder)

    /// - Parameter path: The part of the stream's URL behind host and port.
    init(_ event: RoomEvent, at path: String, in room: Room) {
        func present(_ user: UserID, _ kind: StreamKind) -> String? {
            room.participant(user)?.streams.first { $0.kind == kind }?.url
        }
        self = .free
        switch event.kind {
        case .streamUnpublished(let user, let kind, _):
            if let url = present(user, kind), !url.endsInUTF8(with: path) { self = .over }
        case .streamPublished(let publication):
            guard let url = present(publication.user, publication.stream),
                IngestStreamURL(url)?.isElsewhere(than: path) ?? false
            else { break }
            let id = SourceID(user: publication.user, stream: publication.stream)
            self = .other(StreamHolder(url: url, event: room.newestEvent(of: id)))
        default: break
        }
    }
}

/// The publication of a stream at an ingest, as its room knows it.
package struct StreamHolder: Hashable, Codable, Sendable {
    /// Holds a code.
    var url: String
    /// The newest event about the stream: a publisher who has gone may be back at the same ingest, with the same URL.
    var event: String?
}

/// The way in which a publisher treats another one of the same stream at another ingest. Pure.
package enum StreamTurn: Hashable, Codable, Sendable {
    /// The publisher takes the other's place.
    case takes
    /// The publisher begins only if there is no other, or if the other is this one, whose publisher is gone.
    case yields(except: StreamHolder?)

    /// Returns whether it takes the place of another one.
    func takes(from holder: StreamHolder) -> Bool {
        switch self {
        case .takes: true
        case .yields(let gone): gone == holder
        }
    }
}

/// The result of an event of a stream at an ingest.
struct StreamReceipt: Hashable, Sendable {
    /// `nil` = it was not stored, because another ingest has the stream.
    var outcome: EventOutcome?
    /// The publication at the other ingest that has or had the stream.
    var former: StreamHolder?
}
