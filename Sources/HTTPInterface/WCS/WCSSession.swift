import EventSubscription

/// One client of Web Call Server's protocol: messages and outcomes in, actions out. Pure.
///
/// The connection's owner performs the actions. Everything that a client may fill has a limit.
struct WCSSession {
    enum Action: Hashable, Sendable {
        case send(WCSMessage)
        /// The client wants in, with what it sent in `connection`.
        case admit(WCSConnect)
        case publish(id: String, name: String, offer: String)
        /// The stream's session, if it has begun or begins, is ended.
        case unpublish(id: String)
        /// The client asks whether a stream is there.
        case look(id: String, name: String, purpose: Purpose)
        case mute(id: String, audio: Bool?, video: Bool?)
        case close(WebSocketClose)
    }

    enum Purpose: Hashable, Sendable { case availability, playing }

    /// A stream that the client publishes.
    struct Stream: Hashable, Sendable {
        var name: String
        var status = "PENDING"
        var hasAudio: Bool
        var hasVideo: Bool
        var isAudioMuted = false
        var isVideoMuted = false
    }

    private enum Phase { case new, asking, established, over }

    /// Maximum number of streams of a connection.
    static let mostStreams = 16
    /// Maximum size of an offer, in bytes.
    static let longestOffer = 64 << 10
    /// Number of pings in a row without an answer after which a connection is over.
    static let mostMissed = 10
    /// Number of ticks after which a connection without `connection` is over.
    static let patience = 2

    private var phase = Phase.new
    private var fields: [String: JSONValue] = [:]
    private(set) var streams: [String: Stream] = [:]
    private var missed = 0

    // MARK: The client

    mutating func received(_ text: String) -> [Action] {
        guard phase != .over else { return [] }
        guard let message = WCSMessage(parsing: text) else { return over(WebSocketClose(1003, "not a message of WCS")) }
        // A client that is not let in has its time, whatever it sends.
        if phase == .established { missed = 0 }
        let fields = message.fields
        switch message.name {
        case "connection": return connect(fields)
        case "ping": return [.send(WCSMessage("pong", [.null]))]
        // The others are of no use before `getUserData`; clients that do not wait learn it for streams.
        case "publishStream": return publish(fields)
        case "unPublishStream": return end(fields, "UNPUBLISHED")
        case "stopStream": return end(fields, "STOPPED")
        case "playStream": return look(fields, .playing)
        case "availableStream": return look(fields, .availability)
        case "snapshot": return snapshot(fields)
        case "sendStreamEvent": return event(fields)
        case "sendData": return data(fields)
        default: return []
        }
    }

    private mutating func connect(_ fields: [String: JSONValue]) -> [Action] {
        guard phase == .new else { return [] }
        phase = .asking
        self.fields = fields
        return [.admit(WCSConnect(fields))]
    }

    private mutating func publish(_ fields: [String: JSONValue]) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        let name = fields.text("name") ?? ""
        let stream = Stream(
            name: name, hasAudio: fields.flag("hasAudio") ?? true, hasVideo: fields.flag("hasVideo") ?? true)
        guard phase == .established else { return [Self.status(id, stream, "FAILED", WCSInfo.notReady)] }
        // The stream that has the identifier goes on, so that its status must not change.
        guard streams[id] == nil else { return [Self.fail(id, WCSInfo.idInUse)] }
        guard streams.count < Self.mostStreams else { return [Self.status(id, stream, "FAILED", WCSInfo.restricted)] }
        guard let offer = fields.text("sdp", atMost: Self.longestOffer), !offer.isEmpty else {
            return [Self.status(id, stream, "FAILED", WCSInfo.noCommonCodecs)]
        }
        streams[id] = stream
        return [.publish(id: id, name: name, offer: offer)]
    }

    private mutating func end(_ fields: [String: JSONValue], _ status: String) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        guard let stream = streams.removeValue(forKey: id) else {
            let unknown = Stream(name: fields.text("name") ?? "", hasAudio: false, hasVideo: false)
            return [Self.status(id, unknown, status, WCSInfo.noSession)]
        }
        return [.unpublish(id: id), Self.status(id, stream, status, WCSInfo.stoppedByUser)]
    }

    private func look(_ fields: [String: JSONValue], _ purpose: Purpose) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        let name = fields.text("name") ?? ""
        guard phase == .established else {
            return purpose == .playing
                ? [Self.status(id, Stream(name: name, hasAudio: true, hasVideo: true), "FAILED", WCSInfo.notReady)]
                : [Self.availability(id, false, WCSInfo.notReady)]
        }
        return [.look(id: id, name: name, purpose: purpose)]
    }

    private func snapshot(_ fields: [String: JSONValue]) -> [Action] {
        guard let id = Self.id(fields) else { return [] }
        return [
            .send(
                WCSMessage(
                    "notifyStreamEvent",
                    [
                        "mediaSessionId": .string(id), "type": .string("snapshotFailed"),
                        "payload": .object(["info": .string("snapshots are not made")]),
                    ]))
        ]
    }

    private mutating func event(_ fields: [String: JSONValue]) -> [Action] {
        guard let id = Self.id(fields), var stream = streams[id] else { return [] }
        let (audio, video): (Bool?, Bool?)
        switch fields.text("type") {
        case "audioMuted": (audio, video) = (false, nil)
        case "audioUnmuted": (audio, video) = (true, nil)
        case "videoMuted": (audio, video) = (nil, false)
        case "videoUnmuted": (audio, video) = (nil, true)
        default: return []
        }
        if let audio { stream.isAudioMuted = !audio }
        if let video { stream.isVideoMuted = !video }
        streams[id] = stream
        return [.mute(id: id, audio: audio, video: video)]
    }

    private func data(_ fields: [String: JSONValue]) -> [Action] {
        guard let operation = fields.text("operationId") else { return [] }
        return [
            .send(
                WCSMessage(
                    "DataStatusEvent",
                    [
                        "operationId": .string(operation), "status": .string("FAILED"),
                        "info": .string("data are not passed on"),
                    ]))
        ]
    }

    // MARK: Outcomes

    /// The client is let in. The first ping follows at once: some clients wait for it before they publish.
    mutating func admitted() -> [Action] {
        guard phase == .asking else { return [] }
        (phase, missed) = (.established, 0)
        var answer = ["authToken", "appKey", "clientVersion", "mediaProviders"].reduce(into: [String: JSONValue]()) {
            $0[$1] = fields[$1]
        }
        answer["status"] = .string("ESTABLISHED")
        for key in ["useWsTunnel", "useWsTunnelPacketization2", "useBase64BinaryEncoding"] {
            answer[key] = .boolean(false)
        }
        fields = [:]
        return [.send(WCSMessage("getUserData", answer)), Self.ping]
    }

    /// The client is not let in: WCS closes the connection.
    mutating func denied(_ reason: String) -> [Action] { over(.refused(reason)) }

    mutating func answered(_ id: String, _ answer: String) -> [Action] {
        guard let stream = streams[id] else { return [] }
        return [
            // Some clients need the third element.
            .send(WCSMessage("setRemoteSDP", [.string(id), .string(answer), .boolean(true)])),
            Self.status(id, stream, "PENDING"),
        ]
    }

    mutating func connected(_ id: String) -> [Action] {
        guard var stream = streams[id] else { return [] }
        stream.status = "PUBLISHING"
        streams[id] = stream
        return [Self.status(id, stream, "PUBLISHING")]
    }

    /// The stream could not begin, or has ended without the client's wish.
    mutating func failed(_ id: String, _ info: String) -> [Action] {
        guard let stream = streams.removeValue(forKey: id) else { return [] }
        return [Self.status(id, stream, "FAILED", info)]
    }

    /// The stream is ended by the app's server.
    mutating func terminated(_ id: String) -> [Action] {
        guard let stream = streams.removeValue(forKey: id) else { return [] }
        return [.unpublish(id: id), Self.status(id, stream, "UNPUBLISHED", WCSInfo.stoppedByREST)]
    }

    func looked(_ id: String, _ name: String, _ purpose: Purpose, isThere: Bool) -> [Action] {
        switch purpose {
        case .availability: [Self.availability(id, isThere, isThere ? "" : WCSInfo.streamNotFound)]
        case .playing:
            [
                Self.status(
                    id, Stream(name: name, hasAudio: true, hasVideo: true), "FAILED",
                    isThere ? WCSInfo.restricted : WCSInfo.streamNotFound)
            ]
        }
    }

    /// Another 5 s have passed.
    mutating func tick() -> [Action] {
        missed += 1
        switch phase {
        case .new, .asking: return missed > Self.patience ? over(.refused("no connection message")) : []
        case .established: return missed > Self.mostMissed ? over(.goingAway("no pong")) : [Self.ping]
        case .over: return []
        }
    }

    private mutating func over(_ close: WebSocketClose) -> [Action] {
        phase = .over
        let ids = streams.keys.sorted()
        streams = [:]
        return ids.map { .unpublish(id: $0) } + [.close(close)]
    }

    // MARK: Messages

    private static let ping = Action.send(WCSMessage("ping", [.null]))

    /// Returns the identifier that the client gave its stream: a UUID, or what its application chose.
    private static func id(_ fields: [String: JSONValue]) -> String? {
        guard let id = fields.text("mediaSessionId", atMost: 128), !id.isEmpty,
            id.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return nil }
        return id
    }

    private static func status(_ id: String, _ stream: Stream, _ status: String, _ info: String? = nil) -> Action {
        var fields: [String: JSONValue] = [
            "mediaSessionId": .string(id), "status": .string(status), "name": .string(stream.name),
            "published": .boolean(true), "hasVideo": .boolean(stream.hasVideo), "hasAudio": .boolean(stream.hasAudio),
            "audioState": .object(["muted": .boolean(stream.isAudioMuted)]),
            "videoState": .object(["muted": .boolean(stream.isVideoMuted)]),
        ]
        if let info { fields["info"] = .string(info) }
        return .send(WCSMessage("notifyStreamStatusEvent", fields))
    }

    private static func fail(_ id: String, _ info: String) -> Action {
        .send(
            WCSMessage(
                "fail",
                [
                    "apiMethod": .string("StreamStatusEvent"), "id": .string(id), "status": .string("FAILED"),
                    "info": .string(info),
                ]))
    }

    /// Clients compare the text `true`, not the flag.
    private static func availability(_ id: String, _ isThere: Bool, _ info: String) -> Action {
        .send(
            WCSMessage(
                "availableStream",
                ["id": .string(id), "status": .string(isThere ? "true" : "false"), "info": .string(info)]))
    }
}
