import MixModel
import TextFormats

/// Parses events from app servers: CloudEvents 1.0 in structured, batched and binary mode, or the short form for one
/// room.
public struct EventParser: Sendable {
    /// Places from which streams may be pulled.
    public var allowList: AllowList
    /// Template of the pull URL for a stream that is published without a URL. `{app}`, `{room}`, `{user}` and
    /// `{stream}` are replaced.
    public var urlTemplate: String?

    /// URL schemes that the relay can pull.
    public static let pullSchemes = Set(PullSchemes.all.compactMap(StreamURL.Scheme.init(rawValue:)))

    /// Maximum number of events in a batch.
    public static let longestBatch = 1000

    public init(allowList: AllowList, urlTemplate: String? = nil) {
        self.allowList = allowList
        self.urlTemplate = urlTemplate
    }

    /// Reads one event, or several when the document is an array (CloudEvents batch). Either all of them are accepted
    /// or none, because a sender that repeats a batch after an error cannot know which part of it was accepted.
    public func cloudEvents(_ document: JSONValue, apps: AppRule = .any([])) throws(InputError) -> [RoomEvent] {
        guard case .array = document else { return [try cloudEvent(document, apps: apps)] }
        return try batch(document, apps: apps)
    }

    /// Reads a CloudEvents batch. An error names the event by its index.
    public func batch(_ document: JSONValue, apps: AppRule = .any([])) throws(InputError) -> [RoomEvent] {
        guard case .array(let elements) = document else {
            throw InputError(.invalidField, field: "", found: document.summary, expected: "an array of events")
        }
        guard elements.count <= Self.longestBatch else {
            throw InputError(
                .invalidField, field: "", found: "\(elements.count) events",
                expected: "at most \(Self.longestBatch) events in a batch")
        }
        var events: [RoomEvent] = []
        events.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            events.append(try cloudEvent(element, path: "[\(index)]", apps: apps))
        }
        return events
    }

    /// Reads an event in CloudEvents' structured mode. Unknown extension attributes are ignored, as the specification
    /// requires; unknown fields of `data` are refused.
    public func cloudEvent(
        _ document: JSONValue, path: String = "", apps: AppRule = .any([])
    ) throws(InputError) -> RoomEvent {
        var reader = try FieldReader(document, path: path)
        let version = try reader.requiredString("specversion", expected: "\"1.0\"")
        guard version == "1.0" else { throw reader.invalid("specversion", .string(version), "\"1.0\"") }
        let id = try Self.name("id", &reader, expected: "a non-empty string")
        let source = try Self.name("source", &reader, expected: "a URI reference that names the sender")
        let type = try reader.requiredString("type", expected: "the type of the event")
        let name = try Self.identifier(
            reader.requiredString("subject", expected: "the room's id"), field: reader.path(of: "subject"))
        if let contentType = try reader.string("datacontenttype"), !Self.isJSON(contentType) {
            throw reader.invalid("datacontenttype", .string(contentType), "\"application/json\"")
        }
        if let value = reader.value("data_base64") { throw reader.invalid("data_base64", value, "JSON in \"data\"") }
        let app = try apps.app(try reader.string("app"), field: reader.path(of: "app"))
        let room = RoomID(app: app, name: name)
        let sequence = try Self.sequence(&reader)
        let time = try Self.time(&reader)
        var data = try FieldReader(reader.value("data") ?? .object([:]), path: reader.path(of: "data"))
        let kind = try kind(type, &data, room: room, typeField: reader.path(of: "type"))
        try data.finish()
        return RoomEvent(
            room: room, app: app.rawValue, source: source, id: id, sequence: sequence, time: time, kind: kind)
    }

    /// Reads the short form: `{"type":"stream.published","user":"alice","url":"rtmp://…"}`.
    ///
    /// - Parameter id: The request's `Idempotency-Key`, or a new identifier.
    public func shortForm(_ document: JSONValue, room: RoomID, id: String) throws(InputError) -> RoomEvent {
        var reader = try FieldReader(document)
        let type = try reader.requiredString("type", expected: "the type of the event")
        let sequence = try Self.sequence(&reader)
        let time = try Self.time(&reader)
        let kind = try kind(type, &reader, room: room, typeField: "type")
        try reader.finish()
        return RoomEvent(
            room: room, app: room.app.rawValue, source: "/v1/rooms/\(room.name)/events", id: id, sequence: sequence,
            time: time, kind: kind)
    }

    /// Returns whether the type is `application/json` or has a subtype that ends in `+json` (RFC 6838). Parameters are ignored.
    private static func isJSON(_ contentType: String) -> Bool {
        let type = contentType.lowercased().prefix { $0 != ";" && $0 != " " }
        return type == "application/json" || type.hasSuffix("+json")
    }

    /// Reads a name that the sender chose and by which the event is recognised.
    private static func name(
        _ key: String, _ reader: inout FieldReader, expected: String
    ) throws(InputError) -> String {
        let text = try reader.requiredString(key, expected: expected)
        guard text.utf8.count <= longestName, !Identifiers.hasControlCharacters(text) else {
            throw InputError(
                .invalidField, field: reader.path(of: key), found: JSONValue.string(text).summary,
                expected: "at most \(longestName) bytes without control characters")
        }
        return text
    }

    /// Maximum length of an event's `id` and `source`, in bytes.
    private static let longestName = 1024

    /// Maximum length of names and reasons for display, in bytes of UTF-8.
    public static let longestText = 256

    /// Reads text for display. Text that is too long is cut, because a long name must not cause the loss of an event.
    public static func freeText(_ key: String, _ reader: inout FieldReader) throws(InputError) -> String? {
        try reader.string(key).map { String($0.prefix(bytes: longestText)) }
    }

    private static let types = [
        "stream.published", "stream.updated", "stream.unpublished", "participant.joined", "participant.left",
        "room.opened", "room.closed", "room.snapshot",
    ]

    private func kind(
        _ type: String, _ data: inout FieldReader, room: RoomID, typeField: String
    ) throws(InputError) -> RoomEvent.Kind {
        switch type {
        case "stream.published":
            return .streamPublished(try publication(&data, room: room))
        case "stream.updated":
            return .streamUpdated(
                StreamUpdate(
                    user: try Self.user(&data), stream: try data.choice("stream", of: StreamKind.self) ?? .camera,
                    audio: try data.boolean("audio"), video: try data.boolean("video"),
                    role: try data.choice("role", of: Role.self)))
        case "stream.unpublished":
            return .streamUnpublished(
                user: try Self.user(&data), stream: try data.choice("stream", of: StreamKind.self) ?? .camera,
                reason: try Self.freeText("reason", &data))
        case "participant.joined":
            return .participantJoined(
                user: try Self.user(&data), role: try data.choice("role", of: Role.self),
                name: try Self.freeText("name", &data))
        case "participant.left":
            let user = try Self.user(&data)
            _ = data.value("role")
            _ = data.value("name")
            _ = data.value("reason")
            return .participantLeft(user: user)
        case "room.opened":
            return .roomOpened
        case "room.closed":
            _ = data.value("reason")
            return .roomClosed
        case "room.snapshot":
            return .roomSnapshot(try snapshot(&data, room: room))
        default:
            throw InputError(
                .unknownEventType, field: typeField, found: JSONValue.string(type).summary,
                expected: "one of " + Self.types.joined(separator: ", ")
                    + Suggestion.phrase(for: type, among: Self.types))
        }
    }

    /// Reads the fields of a published stream.
    func publication(_ data: inout FieldReader, room: RoomID) throws(InputError) -> Publication {
        let user = try Self.user(&data)
        let stream = try data.choice("stream", of: StreamKind.self) ?? .camera
        let audio = try data.boolean("audio") ?? true
        let video = try data.boolean("video") ?? true
        let role = try data.choice("role", of: Role.self)
        let page = try page(&data)
        let url = if let page { page.url } else { try url(&data, room: room, user: user, stream: stream) }
        let backup = try data.string("backup", expected: "a second URL to pull the stream from").map {
            text throws(InputError) in
            try allowList.check(
                text, schemes: Self.pullSchemes, field: data.path(of: "backup"), setting: "sources.allow"
            ).text
        }
        if page != nil, backup != nil { throw data.invalid("backup", nil, "none for a page, which is opened again") }
        var publication = Publication(
            user: user, stream: stream, url: url, audio: audio, video: video, role: role, backup: backup)
        publication.page = page
        return publication
    }

    /// Returns the URL that `urlTemplate` produces for a stream; `nil` without a template.
    private func templateURL(_ room: RoomID, _ user: UserID, _ stream: StreamKind) -> String? {
        urlTemplate.map { template in
            Self.substitute(
                template,
                ["app": room.app.rawValue, "room": room.name, "user": user.rawValue, "stream": stream.rawValue])
        }
    }

    /// Returns whether the stream's URL is the one that `urlTemplate` produces.
    public func takesTemplate(_ publication: Publication, room: RoomID) -> Bool {
        templateURL(room, publication.user, publication.stream) == publication.url
    }

    private func url(
        _ data: inout FieldReader, room: RoomID, user: UserID, stream: StreamKind
    ) throws(InputError) -> String {
        let expected = "the URL to pull the stream from, such as rtmp://host/app/key"
        let text: String
        if let given = try data.string("url", expected: expected) {
            text = given
        } else if let template = templateURL(room, user, stream) {
            text = template
        } else {
            throw InputError(
                .missingField, field: data.path(of: "url"),
                expected: expected + " (or configure sources.urlTemplate)")
        }
        return try allowList.check(
            text, schemes: Self.pullSchemes, field: data.path(of: "url"), setting: "sources.allow"
        ).text
    }

    static func user(_ data: inout FieldReader) throws(InputError) -> UserID {
        UserID(
            try identifier(
                data.requiredString("user", expected: "the participant's id"), field: data.path(of: "user")))
    }

    /// Maximum length of the identifiers of rooms and users, in bytes.
    public static let longestIdentifier = 128

    /// Checks the identifier of a room, a user, a task or an output that may be created: 1 to `longest` bytes, no
    /// control characters, no white space, none of `/ ? # % \`, in NFC, and with a first scalar that can stand alone.
    ///
    /// - Parameter longest: Maximum length, in bytes.
    public static func identifier(
        _ text: String, field: String, longest: Int = longestIdentifier
    ) throws(InputError) -> String {
        try Identifiers.check(text, field: field, longest: longest)
        try Identifiers.checkSpelling(text, field: field)
        return text
    }

    /// Checks the identifier of a user from another interface: any text without control characters, with the same
    /// spelling rules.
    public static func foreignIdentifier(_ text: String, field: String) throws(InputError) -> String {
        guard 1...longestIdentifier ~= text.utf8.count, !Identifiers.hasControlCharacters(text) else {
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(text).summary,
                expected: "1 to \(longestIdentifier) bytes without control characters")
        }
        try Identifiers.checkSpelling(text, field: field)
        return text
    }

    /// Checks the identifier of a thing that may already exist, in any spelling: older stores may contain names that
    /// are not in NFC.
    ///
    /// - Parameter longest: Maximum length, in bytes.
    public static func knownIdentifier(
        _ text: String, field: String, longest: Int = longestIdentifier
    ) throws(InputError) -> String {
        try Identifiers.check(text, field: field, longest: longest)
        return text
    }

    static func sequence(_ reader: inout FieldReader) throws(InputError) -> UInt64? {
        // Above 2^53, not every whole number can be represented in JSON, and the order would be lost (RFC 7493 §2.2).
        let expected = "a whole number: a JSON number up to 9007199254740991, or decimal digits in a string"
        guard let value = reader.value("sequence") else { return nil }
        let number: UInt64? =
            switch value {
            case .string(let text): text.utf8.first == UInt8(ascii: "+") ? nil : UInt64(text)
            case .number(let number): number < 0x1p53 ? UInt64(exactly: number) : nil
            default: nil
            }
        guard let number else { throw reader.invalid("sequence", value, expected) }
        return number
    }

    static func time(_ reader: inout FieldReader) throws(InputError) -> Double? {
        let expected = "an RFC 3339 time, such as 2026-01-31T12:00:00.5Z"
        guard let text = try reader.string("time", expected: expected) else { return nil }
        guard let time = Timestamp.seconds(text) else { throw reader.invalid("time", .string(text), expected) }
        return time
    }

    /// Replaces each `{name}` in a template. Values are percent-encoded so that each stays one component of a path.
    public static func substitute(_ template: String, _ values: [String: String]) -> String {
        var text = ""
        var rest = template[...]
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")) {
            text += rest[..<open]
            rest = rest[open...]
            let close = rest.utf8.firstIndex(of: UInt8(ascii: "}"))
            let name = close.map { rest[rest.utf8.index(after: open)..<$0] }
            if let close, let name, let value = values[String(name)] {
                text += PercentEncoding.encoded(value)
                rest = rest[rest.utf8.index(after: close)...]
            } else {
                text += "{"
                rest = rest[rest.utf8.index(after: open)...]
            }
        }
        return text + rest
    }
}
