import EventSubscription

/// Messages of the service to clients.
extension WCSMessage {
    static let ping = WCSMessage("ping", [.null])
    static let pong = WCSMessage("pong", [.null])

    static func status(_ id: String, _ stream: WCSSession.Stream, _ status: String, _ info: String? = nil) -> WCSMessage
    {
        var fields: [String: JSONValue] = [
            "mediaSessionId": .string(id), "status": .string(status), "name": .string(stream.name),
            "published": .boolean(stream.isPublished), "hasVideo": .boolean(stream.hasVideo),
            "hasAudio": .boolean(stream.hasAudio), "audioState": .object(["muted": .boolean(stream.isAudioMuted)]),
            "videoState": .object(["muted": .boolean(stream.isVideoMuted)]),
        ]
        if let info { fields["info"] = .string(info) }
        return WCSMessage(statusName, fields)
    }

    /// The name of the message with a stream's status.
    static let statusName = "notifyStreamStatusEvent"

    /// Returns a stream's event, or a message of its publisher to its players.
    static func event(_ id: String, _ type: String, _ payload: JSONValue?) -> WCSMessage {
        var fields: [String: JSONValue] = ["mediaSessionId": .string(id), "type": .string(type)]
        fields["payload"] = payload
        return WCSMessage("notifyStreamEvent", fields)
    }

    static func fail(_ id: String, _ info: String) -> WCSMessage {
        WCSMessage(
            "fail",
            [
                "apiMethod": .string("StreamStatusEvent"), "id": .string(id), "status": .string("FAILED"),
                "info": .string(info),
            ])
    }

    /// Returns whether a stream is available. Clients compare the text `true`, not a Boolean.
    static func availability(_ id: String, _ isThere: Bool, _ info: String) -> WCSMessage {
        WCSMessage(
            "availableStream",
            ["id": .string(id), "status": .string(isThere ? "true" : "false"), "info": .string(info)])
    }

    /// Returns the message that admits the client.
    ///
    /// - Parameter fields: Fields that it sent in `connection`.
    static func welcome(_ fields: [String: JSONValue]) -> WCSMessage {
        var answer = ["authToken", "appKey", "clientVersion", "mediaProviders"].reduce(into: [String: JSONValue]()) {
            $0[$1] = fields[$1]
        }
        answer["status"] = .string("ESTABLISHED")
        for key in ["useWsTunnel", "useWsTunnelPacketization2", "useBase64BinaryEncoding"] {
            answer[key] = .boolean(false)
        }
        return WCSMessage("getUserData", answer)
    }

    /// Returns the message that refuses the client. Its SDK passes this on as a warning before the connection is
    /// closed.
    static func denial(_ reason: String) -> WCSMessage {
        WCSMessage(
            "fail",
            [
                "apiMethod": .string("ConnectionStatusEvent"), "status": .string("FAILED"), "info": .string(reason),
            ])
    }

    static func refusedData(_ operation: String) -> WCSMessage {
        WCSMessage(
            "DataStatusEvent",
            [
                "operationId": .string(operation), "status": .string("FAILED"),
                "info": .string("data are not passed on"),
            ])
    }
}
