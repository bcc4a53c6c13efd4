import EventSubscription
import LayoutEngine
import MixModel
import RoomService
import TextFormats

/// Reads the settings of rooms and tasks, either complete or as changes.
package struct RoomSettingsReader: Sendable {
    var outputs: AllowList
    /// Permitted sources of programs' images and of idle media.
    var images: AllowList
    var defaultCanvas: RoomCanvas
    var layouts: Layouts
    /// Whether the caller may request a priority above the normal one.
    var mayPrioritise = true

    package init(
        outputs: AllowList, images: AllowList, defaultCanvas: RoomCanvas, layouts: Layouts, mayPrioritise: Bool = true
    ) {
        self.outputs = outputs
        self.images = images
        self.defaultCanvas = defaultCanvas
        self.layouts = layouts
        self.mayPrioritise = mayPrioritise
    }

    /// Maximum number of outputs of one room or task.
    static let mostOutputs = 16

    private static let time = "a time as in 2026-01-31T20:00:00Z (RFC 3339)"

    /// Refuses a schedule in the settings of a room, whose own task follows its streams.
    static func refuseSchedule(_ settings: RoomSettings) throws(InputError) {
        guard let schedule = settings.schedule else { return }
        throw InputError(
            .invalidField, field: schedule.startsAt == nil ? "endsAt" : "startsAt", found: "a schedule of a room",
            expected: "a task with a schedule of its own: POST /v1/tasks")
    }

    /// Returns a reader with the permissions of this caller.
    func allowing(_ caller: Caller) -> RoomSettingsReader {
        var reader = self
        reader.mayPrioritise = caller.scopes.contains(.priority)
        return reader
    }

    /// Reads the body of `PUT /v1/rooms/{room}`. Omitted fields get their defaults.
    func settings(_ document: JSONValue, room: RoomID) throws(InputError) -> RoomSettings {
        var reader = try FieldReader(document)
        let settings = try settings(patching: RoomSettings(), &reader, room: room)
        try reader.finish()
        try Self.refuseSchedule(settings)
        return settings
    }

    /// Reads the body of `PATCH`, a JSON merge patch (RFC 7396). Omitted fields stay, and null restores the default.
    func settings(
        patching settings: RoomSettings, with document: JSONValue, room: RoomID
    ) throws(InputError) -> RoomSettings {
        var reader = try FieldReader(document)
        let settings = try self.settings(patching: settings, &reader, room: room)
        try reader.finish()
        return settings
    }

    /// Reads the fields of settings from any object that contains them.
    func settings(
        patching base: RoomSettings, _ reader: inout FieldReader, room: RoomID
    ) throws(InputError) -> RoomSettings {
        var settings = base
        if reader.has("host") {
            settings.host = try reader.string("host").map { host throws(InputError) in
                UserID(try EventParser.identifier(host, field: reader.path(of: "host")))
            }
        }
        if reader.has("layout") {
            settings.layout = try reader.string("layout").map { name throws(InputError) in
                try layout(name, field: reader.path(of: "layout"))
            }
        }
        // Read by `LayoutParamsReader`, with their positions in the body.
        _ = reader.has("params")
        if reader.has("outputs") {
            settings.outputs = try reader.array("outputs").map { elements throws(InputError) in
                try outputs(elements, field: reader.path(of: "outputs"), room: room)
            }
        }
        if reader.has("canvas") {
            settings.canvas = try RoomCanvasReader(standard: defaultCanvas).canvas(
                of: &reader, patching: settings.canvas ?? defaultCanvas)
        }
        if reader.has("policy") {
            settings.policy =
                try reader.object("policy").map { fields throws(InputError) in
                    try policy(fields, patching: settings.policy)
                } ?? RoomPolicy()
        }
        if reader.has("program") {
            settings.program = try reader.object("program").map { fields throws(InputError) in
                try ProgramSettingsReader(images: images, room: room)
                    .settings(fields, patching: settings.program ?? ProgramSettings())
            }
        }
        if reader.has("recording") {
            settings.recording = try RecordingSettingsReader.settings(
                reader.value("recording"), path: reader.path(of: "recording"), patching: settings.recording)
        }
        for (key, part) in [("startsAt", \TaskSchedule.startsAt), ("endsAt", \TaskSchedule.endsAt)]
        where reader.has(key) {
            var schedule = settings.schedule ?? TaskSchedule()
            schedule[keyPath: part] = try reader.string(key, expected: Self.time).map { text throws(InputError) in
                guard let seconds = Timestamp.seconds(text) else {
                    throw reader.invalid(key, .string(text), Self.time)
                }
                return seconds
            }
            settings.schedule = schedule == TaskSchedule() ? nil : schedule
        }
        if reader.has("idle") {
            settings.idle = try reader.object("idle").map { fields throws(InputError) in
                try IdleSettingsReader(sources: images).settings(fields)
            }
        }
        if let schedule = settings.schedule, let start = schedule.startsAt, let end = schedule.endsAt, end <= start {
            throw InputError(.invalidField, field: reader.path(of: "endsAt"), expected: "a time after startsAt")
        }
        if reader.has("hls") {
            settings.hls = try HLSSettingsReader.settings(
                reader.value("hls"), path: reader.path(of: "hls"), patching: settings.hls)
        }
        return settings
    }

    private func layout(_ name: String, field: String) throws(InputError) -> String {
        // Layout names are ASCII, but Swift considers some other strings equal to them: U+212A equals K.
        guard name.utf8.allSatisfy({ $0 < 0x80 }), layouts.contains(name) else {
            let suggestion = layouts.suggestion(for: name).map { " (did you mean \"\($0)\"?)" } ?? ""
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(name).summary,
                expected: "one of " + layouts.names.joined(separator: ", ") + suggestion)
        }
        return name
    }

    private func outputs(
        _ elements: [(JSONValue, path: String)], field: String, room: RoomID
    ) throws(InputError) -> [PushDestination] {
        guard elements.count <= Self.mostOutputs else {
            throw InputError(.invalidField, field: field, expected: "at most \(Self.mostOutputs) outputs")
        }
        var outputs: [PushDestination] = []
        for (element, path) in elements {
            let output = try output(element, path, room)
            guard !outputs.contains(where: { $0.id == output.id }) else {
                throw InputError(
                    .invalidField, field: "\(path).id", found: "\"\(output.id)\"",
                    expected: "an id that no other output of the room has")
            }
            guard !outputs.contains(where: { Self.isSame($0, output) }) else {
                throw InputError(
                    .invalidField, field: "\(path).url", found: "a duplicate destination",
                    expected: "a URL that no other output has")
            }
            outputs.append(output)
        }
        return outputs
    }

    static func isSame(_ left: PushDestination, _ right: PushDestination) -> Bool {
        DestinationClaims.destination(left.url) == DestinationClaims.destination(right.url)
    }

    /// Reads one output: `{"id","url","kind","token","retry"}`.
    func output(_ value: JSONValue, _ path: String = "", _ room: RoomID) throws(InputError) -> PushDestination {
        var reader = try FieldReader(value, path: path)
        let id = try EventParser.identifier(
            reader.requiredString("id", expected: "the output's id"), field: reader.path(of: "id"))
        let text = try PushURLReader.url(of: &reader)
        let retry = try reader.object("retry").map { fields throws(InputError) in try policy(ofRetries: fields) }
        try reader.finish()
        let url = try outputs.check(
            EventParser.substitute(text, ["app": room.app.rawValue, "room": room.name]),
            schemes: StreamURL.pushSchemes,
            field: reader.path(of: "url"), setting: "outputs.allow")
        return PushDestination(id: OutputID(id), url: url.text, retry: retry)
    }

    private func policy(ofRetries fields: FieldReader) throws(InputError) -> OutputRetry {
        var reader = fields
        let retry = OutputRetry(
            maxAttempts: try reader.integer("maxAttempts", in: OutputRetry.attempts),
            maxSeconds: try reader.integer("maxSeconds", in: OutputRetry.seconds))
        try reader.finish()
        return retry
    }

    private func policy(_ fields: FieldReader, patching base: RoomPolicy) throws(InputError) -> RoomPolicy {
        var reader = fields
        var policy = base
        let standard = RoomPolicy()
        if reader.has("bypass") {
            policy.bypass = try reader.choice("bypass", of: RoomPolicy.Bypass.self) ?? standard.bypass
        }
        if reader.has("whenHostLeaves") {
            policy.whenHostLeaves =
                try reader.choice("whenHostLeaves", of: RoomPolicy.WhenHostLeaves.self) ?? standard.whenHostLeaves
        }
        if reader.has("maxIdleSeconds") {
            policy.maxIdleSeconds = try reader.integer("maxIdleSeconds", in: 0...86_400) ?? standard.maxIdleSeconds
        }
        if reader.has("priority") {
            policy.priority = try reader.integer("priority", in: 0...9) ?? standard.priority
            guard mayPrioritise || policy.priority <= max(standard.priority, base.priority) else {
                throw InputError(
                    .missingRight, field: reader.path(of: "priority"), found: "\(policy.priority)",
                    expected: "at most \(standard.priority), or a token with the scope \(Scope.priority.rawValue)")
            }
        }
        if reader.has("whenIdle") {
            policy.whenIdle = try reader.choice("whenIdle", of: RoomPolicy.WhenIdle.self) ?? standard.whenIdle
        }
        if reader.has("redundancy") {
            let wanted = try reader.choice("redundancy", of: MixRedundancy.self)
            policy.redundancy = wanted == .off ? nil : wanted
        }
        if reader.has("quality") {
            policy.quality = try reader.object("quality").map { fields throws(InputError) in
                try quality(fields, patching: policy.quality ?? QualityLimits())
            }
        }
        try reader.finish()
        return policy
    }

    private func quality(
        _ fields: FieldReader, patching base: QualityLimits
    ) throws(InputError) -> QualityLimits {
        var reader = fields
        var limits = base
        if reader.has("minBitrate") { limits.minBitrate = try reader.integer("minBitrate", in: QualityLimits.bitrates) }
        if reader.has("minFrameRate") {
            limits.minFrameRate = try reader.integer("minFrameRate", in: QualityLimits.frameRates)
        }
        if reader.has("silenceSeconds") {
            limits.silenceSeconds = try reader.integer("silenceSeconds", in: QualityLimits.silences)
        }
        if reader.has("freezeSeconds") {
            limits.freezeSeconds = try reader.integer("freezeSeconds", in: QualityLimits.freezes)
        }
        if reader.has("blackSeconds") {
            limits.blackSeconds = try reader.integer("blackSeconds", in: QualityLimits.blacks)
        }
        if reader.has("windowSeconds") {
            limits.windowSeconds =
                try reader.integer("windowSeconds", in: QualityLimits.windows) ?? QualityLimits.usualWindow
        }
        if reader.has("recoverySeconds") {
            limits.recoverySeconds =
                try reader.integer("recoverySeconds", in: QualityLimits.recoveries) ?? QualityLimits.usualRecovery
        }
        try reader.finish()
        return limits
    }
}
