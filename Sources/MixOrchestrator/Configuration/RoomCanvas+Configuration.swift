import LayoutEngine
import MixModel

extension RoomCanvas {
    /// Creates the canvas of rooms that specify none, from the keys under `rooms.canvas`. It follows the host unless a
    /// size or a frame rate is configured without `follows`.
    ///
    /// - Throws: `StartupError` for a value that cannot be used.
    init(_ values: ConfigurationValues) throws {
        let (width, height) = (
            try values.integer("rooms.canvas.width", in: 16...7680),
            try values.integer("rooms.canvas.height", in: 16...7680)
        )
        let fps = try values.integer("rooms.canvas.fps", in: 1...60)
        let follows: Followed? = try values.choice("rooms.canvas.follows")
        let usual = Canvas.portrait
        self.init(
            Canvas(
                width: width ?? usual.width, height: height ?? usual.height, fps: fps ?? usual.fps,
                background: try values.colour("rooms.canvas.background") ?? usual.background
            ).withinLimits,
            followsHost: follows.map { $0 == .host } ?? (width == nil && height == nil && fps == nil))
    }

    private enum Followed: String, CaseIterable {
        case host
        case none
    }
}
