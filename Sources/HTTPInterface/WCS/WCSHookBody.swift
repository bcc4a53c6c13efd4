import EventSubscription
import TextFormats

/// The bodies of hooks: the fields of Web Call Server's hooks, as far as they have a meaning here. Pure.
struct WCSHookBody: Sendable {
    /// The fields of every call.
    private var common: [String: JSONValue]
    private var connection: [String: JSONValue] = [:]
    /// The requests of the streams that have not ended, by the client's identifiers.
    private var streams: [String: [String: JSONValue]] = [:]

    private static let connectionFields = [
        "mediaProviders", "keepAlive", "clientVersion", "clientOSVersion", "clientBrowserVersion",
        "msePacketizationVersion",
    ]
    private static let streamFields = [
        "record", "width", "height", "bitrate", "minBitrate", "maxBitrate", "quality", "transport", "cvoExtension",
        "mediaProvider",
    ]
    /// Maximum size of an application's own fields, in bytes of JSON. Larger ones are dropped.
    static let longestCustom = 4 << 10

    init(node: String, session: String) {
        common = ["nodeId": .string(node), "sessionId": .string(session)]
    }

    // MARK: Connections

    /// - Parameters:
    ///   - fields: Fields that the client sent in `connection`.
    ///   - hidesToken: Whether the client's token is one of this service, which must not be disclosed.
    mutating func connect(_ fields: [String: JSONValue], hidesToken: Bool) -> [String: JSONValue] {
        common["appKey"] = .string(fields.text("appKey") ?? "defaultApp")
        connection = Self.chosen(Self.connectionFields, of: fields)
        var custom = fields.object("custom")
        if hidesToken { custom["token"] = nil } else { connection["authToken"] = fields["authToken"] }
        if case .object? = fields["custom"] { connection["custom"] = Self.custom(.object(custom)) }
        return common.merging(connection) { $1 }
    }

    func connection(_ status: String) -> [String: JSONValue] {
        common.merging(connection) { $1 }.merging(["status": .string(status)]) { $1 }
    }

    // MARK: Streams

    /// - Parameter fields: Fields that the client sent in `publishStream` or `playStream`.
    mutating func begin(
        _ id: String, _ stream: WCSSession.Stream, _ fields: [String: JSONValue], offer: String, at now: Double
    ) -> [String: JSONValue] {
        var details = Self.chosen(Self.streamFields, of: fields)
        details["custom"] = Self.custom(fields["custom"])
        details["createDate"] = .number((now * 1000).rounded())
        details["mediaType"] = .string(stream.isPublished ? "publish" : "play")
        streams[id] = details
        return status(WCSMessage.status(id, stream, "PENDING").fields).merging(["sdp": .string(offer)]) { $1 }
    }

    /// - Parameter fields: Fields of the status that the client is sent.
    func status(_ fields: [String: JSONValue]) -> [String: JSONValue] {
        let details = fields.text("mediaSessionId").flatMap { streams[$0] } ?? [:]
        return common.merging(details) { $1 }.merging(fields) { $1 }
    }

    /// Removes a stream that has ended.
    mutating func forget(_ id: String) { streams[id] = nil }

    /// Returns texts, numbers, flags, and lists of texts.
    private static func chosen(_ keys: [String], of fields: [String: JSONValue]) -> [String: JSONValue] {
        keys.reduce(into: [:]) { chosen, key in
            switch fields[key] {
            case .string(let text)? where text.utf8.count <= 512: chosen[key] = .string(text)
            case .array(let elements)? where elements.count <= 16:
                chosen[key] = .array(
                    elements.filter { if case .string(let text) = $0 { text.utf8.count <= 64 } else { false } })
            case .number(let number)?: chosen[key] = .number(number)
            case .boolean(let flag)?: chosen[key] = .boolean(flag)
            default: break
            }
        }
    }

    private static func custom(_ value: JSONValue?) -> JSONValue? {
        value.flatMap { JSONText.of($0).utf8.count <= longestCustom ? $0 : nil }
    }
}
