import Crypto
import EventSubscription
import MixModel
import TextFormats

/// The configuration of the service's own RTMP server.
package struct IngestRules: Sendable {
    /// The treatment of a second publisher of a stream.
    package enum Takeover: String, CaseIterable, Hashable, Sendable {
        /// The second publisher replaces the first.
        case replace
        /// The second publisher is refused while the first is connected.
        case refuse
    }

    /// Address to listen on: an IP address or `localhost`.
    package var host: String
    package var port: Int
    /// Seconds for which the place of a lost publisher is kept.
    package var grace = 10.0
    package var takeover = Takeover.replace
    /// Settings of the RTMPS listener; `nil` = none.
    package var rtmps: IngestTLS?
    /// Place at which the other nodes of a cluster reach the server; `nil` = they cannot reach it.
    package var advertised: IngestPlace?

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Seconds after which a stream that the ingest has not named has ended. Longer than a service that starts, or has lost its
    /// connection to the ingest, takes to be told of all streams.
    var absence: Double { max(grace, 5) }

    /// Range of `grace` in seconds.
    package static let graces = 0.0...300.0

    /// Place at which processes of this machine reach the server.
    var ownPlace: IngestPlace { IngestPlace(host: pullHost, port: port) }

    /// Host under which processes of this machine reach the server.
    package var pullHost: String {
        switch host {
        case "0.0.0.0", "localhost": "127.0.0.1"
        case "::": "::1"
        default: host
        }
    }

    /// Host and port in the streams' URLs.
    var pullPlace: String { (advertised ?? ownPlace).text }

    /// Beginning of the URLs at which viewers play programs; `nil` if the server listens on all addresses, because only
    /// the viewers know which one reaches it.
    package var playPlace: String? {
        guard !["0.0.0.0", "::"].contains(host) else { return nil }
        return "rtmp://\(port == 1935 ? String(ownPlace.text.dropLast(5)) : ownPlace.text)"
    }

    /// The places that relays may connect to in addition to `sources.allow`.
    package var places: [Reach.Place] { ([ownPlace] + (advertised.map { [$0] } ?? [])).map(\.reach) }

    /// Hosts by which a client on this machine may name the server.
    var hosts: [String] { [host] + (advertised.map { [$0.host] } ?? []) }
}

extension IngestRequest {
    /// Whether the client is a process on this machine that has connected to a loopback address.
    var isFromLoopback: Bool { ["127.", "::1", "::ffff:127."].contains { address.startsInUTF8(with: $0) } }
}

/// The identity of a stream at the ingest: its names, from which the URL that relays pull is derived.
struct IngestStreamKey: Hashable, Sendable {
    let names: StreamNames
    /// Application, room, user and kind, each percent-encoded.
    let text: String

    init(_ names: StreamNames) {
        self.names = names
        text = [
            names.room.app.rawValue, names.room.name, names.user.rawValue, names.stream.rawValue,
        ].map(PercentEncoding.encoded).joined(separator: "/")
    }

    /// Parses a key; `nil` if the text is not a key.
    init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { $0.removingPercentEncoding }
        guard parts.count == 4, let app = parts[0], let room = parts[1], let user = parts[2], let word = parts[3],
            let kind = StreamKind.allCases.first(where: { $0.rawValue == word })
        else { return nil }
        self.init(StreamNames(room: RoomID(app: AppID(app), name: room), user: UserID(user), stream: kind))
        guard self.text == text else { return nil }
    }

    /// The URL of the stream at the ingest. Contains a code that is not valid for any other stream.
    func url(of rules: IngestRules, secret: String) -> String {
        "rtmp://\(rules.pullPlace)\(relayPath(secret: secret))"
    }

    /// The part of the URL after host and port. It is unique to the ingest.
    func relayPath(secret: String) -> String { "\(relayPath)?relay=\(Self.code(of: text, secret))" }

    private var relayPath: String { "/relay/\(text)" }

    /// Returns whether a URL is a URL of this stream at one of these ingests.
    func isStream(_ url: String, at places: [IngestPlace]) -> Bool {
        places.contains { url.startsInUTF8(with: "rtmp://\($0.text)\(relayPath)?relay=") }
    }

    // MARK: - Workers that publish

    /// First part of the application under which workers of the service publish.
    private static let publishing = "publish/"
    private static let proof = "proof="

    /// Returns the URL to which a worker of the service publishes the stream. Its code does not permit playing, and the
    /// code in `url` does not permit publishing.
    func publishingURL(of rules: IngestRules, secret: String) -> String {
        "rtmp://\(rules.ownPlace.text)/\(Self.publishing)\(text)?\(Self.proof)\(Self.code(of: Self.publishing + text, secret))"
    }

    /// Returns whether a publisher says that it is a worker of the service, as `publishingURL` has it.
    static func isWorkers(_ request: IngestRequest) -> Bool { request.application.startsInUTF8(with: publishing) }

    /// The proof in a request that such a worker makes.
    enum Publishing: Hashable, Sendable {
        /// The request comes from another publisher.
        case none
        case proven(IngestStreamKey)
        case refused
    }

    /// Checks whether a request is from a worker, with a URL as made by `publishingURL`.
    static func publishing(_ request: IngestRequest, of rules: IngestRules, secret: String) -> Publishing {
        let path = "\(request.application)/\(request.name)"
        guard request.isPublish, path.startsInUTF8(with: publishing), request.query.startsInUTF8(with: proof),
            let key = IngestStreamKey(String(path.dropFirst(publishing.count)))
        else { return .none }
        let isOwn = request.isFromLoopback || request.address == rules.pullHost
        let code = code(of: publishing + key.text, secret)
        // Compares all bytes, so that the time taken reveals nothing.
        let shown = request.query.utf8.dropFirst(proof.utf8.count)
        let isRight =
            shown.count == code.utf8.count && zip(shown, code.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
        return isOwn && isRight ? .proven(key) : .refused
    }

    private static func code(of text: String, _ secret: String) -> String {
        Hexadecimal.text(
            HMAC<SHA256>.authenticationCode(
                for: Array(text.utf8), using: SymmetricKey(data: Array(secret.utf8))))
    }
}
