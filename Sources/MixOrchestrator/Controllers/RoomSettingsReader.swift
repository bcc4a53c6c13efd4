import EventSubscription
import LayoutEngine
import MixModel

/// Reads the body of `PUT /v1/rooms/{room}`: the whole of a room's settings; what is left out gets its default.
struct RoomSettingsReader: Sendable {
    var outputs: AllowList
    var defaultCanvas: Canvas
    var layouts: Layouts

    /// Most outputs of one room.
    static let mostOutputs = 16

    func settings(_ document: JSONValue, room: RoomID) throws(InputError) -> RoomSettings {
        var reader = try FieldReader(document)
        var settings = RoomSettings()
        if let host = try reader.string("host") {
            settings.host = UserID(try EventParser.identifier(host, field: "host"))
        }
        if let layout = try reader.string("layout") {
            guard layouts.contains(layout) else {
                let suggestion = layouts.suggestion(for: layout).map { " (did you mean \"\($0)\"?)" } ?? ""
                throw InputError(
                    .invalidField, field: "layout", found: "\"\(layout)\"",
                    expected: "one of " + layouts.names.joined(separator: ", ") + suggestion)
            }
            settings.layout = layout
        }
        if let elements = try reader.array("outputs") {
            guard elements.count <= Self.mostOutputs else {
                throw InputError(.invalidField, field: "outputs", expected: "at most \(Self.mostOutputs) outputs")
            }
            settings.outputs = []
            for (element, path) in elements {
                let output = try output(element, path, room)
                guard settings.outputs?.contains(where: { $0.id == output.id }) == false else {
                    throw InputError(
                        .invalidField, field: "\(path).id", found: "\"\(output.id)\"",
                        expected: "an id that no other output of the room has")
                }
                settings.outputs?.append(output)
            }
        }
        if let canvas = try reader.object("canvas") { settings.canvas = try self.canvas(canvas) }
        if let policy = try reader.object("policy") { settings.policy = try self.policy(policy) }
        try reader.finish()
        return settings
    }

    private func output(_ value: JSONValue, _ path: String, _ room: RoomID) throws(InputError) -> PlannedOutput {
        var reader = try FieldReader(value, path: path)
        let id = try EventParser.identifier(
            reader.requiredString("id", expected: "a name for the output"), field: reader.path(of: "id"))
        let text = try reader.requiredString("url", expected: "where to push, as rtmp://host/app/key")
        try reader.finish()
        let url = try outputs.check(
            EventParser.substitute(text, ["room": room.rawValue]), schemes: OrchestratorConfiguration.pushSchemes,
            field: reader.path(of: "url"), setting: "outputs.allow")
        return PlannedOutput(id: OutputID(id), url: url.text)
    }

    private func canvas(_ fields: FieldReader) throws(InputError) -> Canvas {
        var reader = fields
        var canvas = defaultCanvas
        for (key, part) in [("width", \Canvas.width), ("height", \Canvas.height)] {
            guard let value = try reader.integer(key, in: 16...7680) else { continue }
            guard value % 2 == 0 else {
                throw InputError(
                    .invalidField, field: reader.path(of: key), found: "\(value)", expected: "an even number")
            }
            canvas[keyPath: part] = value
        }
        if let fps = try reader.integer("fps", in: 1...60) { canvas.fps = fps }
        if let text = try reader.string("background") {
            guard let colour = RGB(hex: text) else {
                throw reader.invalid("background", .string(text), "a colour as in \"#1A2B3C\"")
            }
            canvas.background = colour
        }
        try reader.finish()
        return canvas
    }

    private func policy(_ fields: FieldReader) throws(InputError) -> RoomPolicy {
        var reader = fields
        var policy = RoomPolicy()
        if let bypass = try reader.choice("bypass", of: RoomPolicy.Bypass.self) { policy.bypass = bypass }
        if let leaving = try reader.choice("whenHostLeaves", of: RoomPolicy.WhenHostLeaves.self) {
            policy.whenHostLeaves = leaving
        }
        if let seconds = try reader.integer("maxIdleSeconds", in: 0...86_400) { policy.maxIdleSeconds = seconds }
        if let priority = try reader.integer("priority", in: 0...9) { policy.priority = priority }
        try reader.finish()
        return policy
    }
}
