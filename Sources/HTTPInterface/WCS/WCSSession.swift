import EventSubscription

/// One client of Web Call Server's protocol: messages and outcomes in, actions out. Pure.
///
/// The connection's owner performs the actions. Everything that a client may fill has a limit.
struct WCSSession {
    enum Action: Hashable, Sendable {
        case send(WCSMessage)
        /// The client asks to be admitted, with its data in `connection`.
        case admit(WCSConnect)
        /// The client wants to publish or to play a stream.
        case begin(Wish)
        /// The stream's session, if it has begun or begins, is ended.
        case end(id: String)
        /// The client asks whether a stream is there.
        case look(id: String, name: String)
        case mute(id: String, audio: Bool?, video: Bool?)
        /// The players of a stream that the client publishes are told.
        case tell(id: String, type: String, payload: JSONValue?)
        case close(WebSocketClose)
    }

    /// A stream that the client publishes or plays.
    struct Stream: Hashable, Sendable {
        var name: String
        var isPublished = true
        var status = "PENDING"
        var hasAudio = true
        var hasVideo = true
        var isAudioMuted = false
        var isVideoMuted = false

        fileprivate var runs: String { isPublished ? "PUBLISHING" : "PLAYING" }
        fileprivate var ended: String { isPublished ? "UNPUBLISHED" : "STOPPED" }
    }

    /// A stream that is to begin.
    struct Wish: Hashable, Sendable {
        var id: String
        var name: String
        var isPublished: Bool
        /// The client's session description.
        var offer: String
        /// All fields that the client sent.
        var fields: [String: JSONValue]
    }

    private enum Phase { case new, asking, established, over }

    /// Maximum number of streams of a connection.
    static let mostStreams = 16
    /// Maximum size of an offer, in bytes.
    static let longestOffer = 64 << 10
    /// Number of consecutive unanswered pings after which a connection ends.
    static let mostMissed = 10
    /// Number of ticks after which a connection without `connection` ends.
    static let patience = 2

    private var phase = Phase.new
    private var fields: [String: JSONValue] = [:]
    private(set) var streams: [String: Stream] = [:]
    private var missed = 0

    // MARK: The client

    mutating func received(_ text: String) -> [Action] {
        guard phase != .over else { return [] }
        guard let message = WCSMessage(parsing: text) else { return over(WebSocketClose(1003, "not a message of WCS")) }
        // Messages do not extend the time of a client that is not admitted.
        if phase == .established { missed = 0 }
        let fields = message.fields
        switch message.name {
        case "connection": return connect(fields)
        case "ping": return [.send(.pong)]
        // Other messages are of no use before `getUserData`; clients that do not wait are told so for streams.
        case "publishStream", "playStream": return begin(fields, isPublished: message.name == "publishStream")
        case "unPublishStream", "stopStream": return end(fields, isPublished: message.name == "unPublishStream")
        case "availableStream": return look(fields)
        case "snapshot":
            return Self.id(fields).map {
                [.send(.event($0, "snapshotFailed", .object(["info": .string("snapshots are not made")])))]
            } ?? []
        case "sendStreamEvent": return event(fields)
        case "sendData": return fields.text("operationId").map { [.send(.refusedData($0))] } ?? []
        default: return []
        }
    }

    private mutating func connect(_ fields: [String: JSONValue]) -> [Action] {
        guard phase == .new else { return [] }
        phase = .asking
        self.fields = fields
        return [.admit(WCSConnect(fields))]
    }

    private mutating func begin(_ fields: [String: JSONValue], isPublished: Bool) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        let name = fields.text("name") ?? ""
        let stream = Stream(
            name: name, isPublished: isPublished, hasAudio: fields.flag("hasAudio") ?? true,
            hasVideo: fields.flag("hasVideo") ?? true)
        func failed(_ info: String) -> [Action] { [.send(.status(id, stream, "FAILED", info))] }
        guard phase == .established else { return failed(WCSInfo.notReady) }
        // The stream with this identifier continues, so its status must not change.
        guard streams[id] == nil else { return [.send(.fail(id, WCSInfo.idInUse))] }
        guard streams.count < Self.mostStreams else { return failed(WCSInfo.restricted) }
        guard let offer = fields.text("sdp", atMost: Self.longestOffer), !offer.isEmpty else {
            return failed(WCSInfo.noCommonCodecs)
        }
        streams[id] = stream
        return [.begin(Wish(id: id, name: name, isPublished: isPublished, offer: offer, fields: fields))]
    }

    private mutating func end(_ fields: [String: JSONValue], isPublished: Bool) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        guard let stream = streams.removeValue(forKey: id) else {
            let unknown = Stream(
                name: fields.text("name") ?? "", isPublished: isPublished, hasAudio: false, hasVideo: false)
            return [.send(.status(id, unknown, unknown.ended, WCSInfo.noSession))]
        }
        return [.end(id: id), .send(.status(id, stream, stream.ended, WCSInfo.stoppedByUser))]
    }

    private func look(_ fields: [String: JSONValue]) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        guard phase == .established else { return [.send(.availability(id, false, WCSInfo.notReady))] }
        return [.look(id: id, name: fields.text("name") ?? "")]
    }

    private mutating func event(_ fields: [String: JSONValue]) -> [Action] {
        guard let id = Self.id(fields), var stream = streams[id], stream.isPublished else { return [] }
        let (audio, video): (Bool?, Bool?)
        guard let type = fields.text("type") else { return [] }
        switch type {
        case "audioMuted": (audio, video) = (false, nil)
        case "audioUnmuted": (audio, video) = (true, nil)
        case "videoMuted": (audio, video) = (nil, false)
        case "videoUnmuted": (audio, video) = (nil, true)
        case "data": return [.tell(id: id, type: type, payload: fields["payload"])]
        default: return []
        }
        if let audio { stream.isAudioMuted = !audio }
        if let video { stream.isVideoMuted = !video }
        streams[id] = stream
        return [.mute(id: id, audio: audio, video: video), .tell(id: id, type: type, payload: nil)]
    }

    // MARK: Outcomes

    /// Admits the client. The first ping follows immediately: some clients wait for it before they publish.
    mutating func admitted() -> [Action] {
        guard phase == .asking else { return [] }
        (phase, missed) = (.established, 0)
        defer { fields = [:] }
        return [.send(.welcome(fields)), .send(.ping)]
    }

    /// Refuses the client: WCS closes the connection.
    mutating func denied(_ reason: String) -> [Action] {
        phase == .over ? [] : [.send(.denial(reason))] + over(.refused(reason))
    }

    mutating func answered(_ id: String, _ answer: String) -> [Action] {
        guard let stream = streams[id] else { return [] }
        return [
            // Some clients need the third element.
            .send(WCSMessage("setRemoteSDP", [.string(id), .string(answer), .boolean(true)])),
            .send(.status(id, stream, "PENDING")),
        ]
    }

    mutating func connected(_ id: String) -> [Action] {
        guard var stream = streams[id] else { return [] }
        stream.status = stream.runs
        streams[id] = stream
        return [.send(.status(id, stream, stream.status))]
    }

    /// Handles a stream that could not begin, or has ended without the client's request.
    mutating func failed(_ id: String, _ info: String) -> [Action] {
        guard let stream = streams.removeValue(forKey: id) else { return [] }
        return [.send(.status(id, stream, "FAILED", info))]
    }

    /// Handles the end of a stream by the app's server.
    mutating func terminated(_ id: String) -> [Action] {
        guard let stream = streams.removeValue(forKey: id) else { return [] }
        return [.end(id: id), .send(.status(id, stream, stream.ended, WCSInfo.stoppedByREST))]
    }

    /// The publisher of a stream that the client plays has ended it.
    mutating func lost(_ id: String) -> [Action] {
        guard let stream = streams[id], !stream.isPublished else { return [] }
        return [.end(id: id)] + failed(id, WCSInfo.stoppedByPublisher)
    }

    func looked(_ id: String, isThere: Bool) -> [Action] {
        [.send(.availability(id, isThere, isThere ? "" : WCSInfo.streamNotFound))]
    }

    /// Handles a message from the publisher of a stream that the client plays.
    func publisherSent(_ id: String, _ type: String, _ payload: JSONValue?) -> [Action] {
        streams[id]?.isPublished == false ? [.send(.event(id, type, payload))] : []
    }

    /// Handles a tick, every 5 s.
    mutating func tick() -> [Action] {
        missed += 1
        switch phase {
        case .new: return missed > Self.patience ? over(.refused("no connection message")) : []
        // The decision about clients has its own time limit.
        case .asking: return []
        case .established: return missed > Self.mostMissed ? over(.goingAway("no pong")) : [.send(.ping)]
        case .over: return []
        }
    }

    private mutating func over(_ close: WebSocketClose) -> [Action] {
        phase = .over
        let ids = streams.keys.sorted()
        streams = [:]
        return ids.map { .end(id: $0) } + [.close(close)]
    }

    /// Returns the identifier that the client gave its stream: a UUID, or one that its application chose.
    private static func id(_ fields: [String: JSONValue]) -> String? {
        guard let id = fields.text("mediaSessionId", atMost: 128), !id.isEmpty,
            id.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        return id
    }
}
