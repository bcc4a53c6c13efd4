import Crypto
import EventSubscription
import Foundation
import MixModel
import TextFormats

/// A client's request to watch over WebRTC, through any interface.
package struct WebRTCViewWish: Sendable {
    package enum Target: Hashable, Sendable {
        /// - Parameter task: The task whose program is requested; `nil` = the room's first that is on air.
        case program(RoomID, task: TaskID?)
        /// A participant's published stream.
        case participant(StreamNames)

        package var room: RoomID {
            switch self {
            case .program(let room, _): room
            case .participant(let names): names.room
            }
        }
    }

    package var target: Target
    /// The session description of the offer.
    package var offer: String
    package var client: WebRTCClient
    /// Whether only a token of the app may change the session; otherwise any client that knows its identifier may.
    package var needsToken: Bool
    /// Whether the stream of a room of another node is played from here: the client cannot be passed on to that node.
    package var staysHere: Bool

    package init(
        target: Target, offer: String, client: WebRTCClient, needsToken: Bool = false, staysHere: Bool = false
    ) {
        self.staysHere = staysHere
        self.target = target
        self.offer = offer
        self.client = client
        self.needsToken = needsToken
    }
}

/// A stream played over WebRTC, as its worker identifies it.
enum PlayedStream: Hashable, Sendable {
    case program(TaskID)
    case publisher(IngestStreamKey)
    /// A participant's stream at another server.
    ///
    /// - Parameter mark: Distinguishes the stream from one that the participant publishes elsewhere later.
    case server(IngestStreamKey, mark: String)

    private static let program = "program "
    private static let publisher = "publisher "
    private static let server = "server "

    /// Returns the mark of a URL, which does not reveal it.
    static func mark(of url: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(url.utf8)).prefix(16))
    }

    /// The room of a stream that is pulled from another server; `nil` for all others.
    var roomAtServer: RoomID? { if case .server(let key, mark: _) = self { key.names.room } else { nil } }

    var text: String {
        switch self {
        case .program(let task): Self.program + task.rawValue
        case .publisher(let key): Self.publisher + key.text
        case .server(let key, let mark): Self.server + mark + " " + key.text
        }
    }

    /// Parses a text made by `text`; `nil` for other texts.
    init?(_ text: String) {
        if text.startsInUTF8(with: Self.program) {
            self = .program(TaskID(String(text.dropFirst(Self.program.count))))
        } else if text.startsInUTF8(with: Self.publisher),
            let key = IngestStreamKey(String(text.dropFirst(Self.publisher.count)))
        {
            self = .publisher(key)
        } else if text.startsInUTF8(with: Self.server),
            let parts = text.dropFirst(Self.server.count).splitAtFirst(" "),
            let key = IngestStreamKey(String(parts.tail))
        {
            self = .server(key, mark: String(parts.head))
        } else {
            return nil
        }
    }

    var app: AppID {
        switch self {
        case .program(let task): task.app
        case .publisher(let key), .server(let key, _): key.names.room.app
        }
    }
}

/// The record of a viewer for a later run of the service, which the worker keeps (`PlayViewer.note`).
struct WebRTCViewerNote: Hashable, Codable, Sendable {
    var address: String
    var needsToken: Bool

    var text: String {
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    init(address: String, needsToken: Bool) {
        self.address = address
        self.needsToken = needsToken
    }

    /// - Returns: For a text that cannot be parsed, a note that grants no additional rights.
    init(_ text: String) {
        self =
            (try? JSONDecoder().decode(Self.self, from: Data(text.utf8)))
            ?? WebRTCViewerNote(address: "unknown", needsToken: true)
    }
}
