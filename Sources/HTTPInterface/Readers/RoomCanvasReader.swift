import EventSubscription
import LayoutEngine
import MixModel

/// Reads the canvas of rooms and tasks: `"host"`, or an object.
struct RoomCanvasReader {
    /// The configured canvas, which `null` stands for.
    var standard: RoomCanvas

    /// Reads the field `canvas`.
    ///
    /// A size or frame rate makes a canvas fixed unless `follows` is also given, so that canvases in the form of
    /// answers can be sent back. Omitted fields stay as in `base`.
    ///
    /// - Returns: `nil` for null: the configured canvas.
    func canvas(of parent: inout FieldReader, patching base: RoomCanvas) throws(InputError) -> RoomCanvas? {
        guard let value = parent.value("canvas") else { return nil }
        switch value {
        case .string(RoomCanvas.hostWord):
            return RoomCanvas(base.canvas, followsHost: true)
        case .object:
            guard let fields = try parent.object("canvas") else { return nil }
            return try canvas(fields, patching: base)
        default:
            throw parent.invalid("canvas", value, "\"\(RoomCanvas.hostWord)\", or an object with width, height and fps")
        }
    }

    private func canvas(_ fields: FieldReader, patching base: RoomCanvas) throws(InputError) -> RoomCanvas {
        var reader = fields
        var (canvas, followsHost) = (base.canvas, base.followsHost)
        for (key, part) in [("width", \Canvas.width), ("height", \Canvas.height)] where reader.has(key) {
            let value = try reader.integer(key, in: 16...7680) ?? standard.canvas[keyPath: part]
            guard value % 2 == 0 else {
                throw InputError(
                    .invalidField, field: reader.path(of: key), found: "\(value)", expected: "an even number")
            }
            canvas[keyPath: part] = value
            followsHost = false
        }
        if reader.has("fps") {
            canvas.fps = try reader.integer("fps", in: 1...60) ?? standard.canvas.fps
            followsHost = false
        }
        if reader.has("follows") { followsHost = try reader.choice("follows", of: Followed.self) != nil }
        if reader.has("background") {
            let text = try reader.string("background")
            guard let colour = text.map({ RGB(hex: $0) }) ?? standard.canvas.background else {
                throw reader.invalid("background", text.map { .string($0) }, "a colour as in \"#1A2B3C\"")
            }
            canvas.background = colour
        }
        try reader.finish()
        return RoomCanvas(canvas, followsHost: followsHost)
    }

    private enum Followed: String, CaseIterable { case host }
}
