import Foundation
import LayoutEngine
import MixModel

/// The participants in the picture, with their positions and volumes, for players: the JSON format of Agora's cloud
/// transcoder (`ver` 20190611), in pixels of the canvas.
public struct SEILayout: Hashable, Sendable, Encodable {
    /// The picture on air, as far as its layout depends on it.
    public enum Picture: Hashable, Sendable {
        /// One participant fills the picture, whose size is not known before its parameter sets.
        case bypass(SourceID, size: LayoutParticipant.Size?)
        case mix(Scene)
    }

    public struct Frame: Hashable, Sendable, Encodable {
        public var w: Int
        public var h: Int
        /// Background as `#RRGGBB`.
        public var bgnd: String
    }

    /// A participant who is seen or heard. Width and height are 0 for a participant who is only heard.
    public struct Region: Hashable, Sendable, Encodable {
        public var uid: String
        /// Stream name: `camera`, `screen` or `audio`.
        public var stream: String
        /// Room of the participant; absent for participants of the task's own room.
        public var room: String?
        /// Opacity, 0…1.
        public var alpha: Double
        public var zorder: Int
        /// Volume, 0…255, where a full-scale sine has 255; absent if no audio is decoded.
        public var volume: Int?
        public var x: Int
        public var y: Int
        public var w: Int
        public var h: Int
    }

    public var canvas: Frame
    public var regions: [Region]
    /// Time at which the layout was made, in ms since 1970.
    public var ts: Int64
    public var ver = "20190611"

    /// Creates the layout of a picture.
    ///
    /// - Parameter volumes: Volumes of a mix by source, 0…255.
    public init(_ picture: Picture, volumes: [SourceID: Int], at milliseconds: Int64) {
        switch picture {
        case .bypass(let source, let size): self.init(bypass: source, size: size, at: milliseconds)
        case .mix(let scene): self.init(scene: scene, volumes: volumes, at: milliseconds)
        }
    }

    /// Creates the layout of a mix.
    ///
    /// - Parameter volumes: Volumes by source, 0…255.
    public init(scene: Scene, volumes: [SourceID: Int], at milliseconds: Int64) {
        canvas = Frame(w: scene.canvas.width, h: scene.canvas.height, bgnd: "\(scene.canvas.background)")
        ts = milliseconds
        let heard = scene.sound.levels.map(\.source)
        regions = scene.panes.filter { !$0.user.isEmpty }.map { pane in
            Region(
                SourceID(pane.source), alpha: pane.opacity.value, zorder: pane.z,
                volume: volumes[SourceID(pane.source)] ?? 0, x: pane.x, y: pane.y, w: pane.width, h: pane.height)
        }
        let seen = Set(scene.panes.map(\.source))
        regions += heard.filter { !seen.contains($0) }.map { source in
            Region(SourceID(source), alpha: 1, zorder: 0, volume: volumes[SourceID(source)] ?? 0)
        }
    }

    /// Creates the layout of a bypass: one participant fills the picture, at an unknown volume.
    public init(bypass source: SourceID, size: LayoutParticipant.Size?, at milliseconds: Int64) {
        let (width, height) = (size?.width ?? 0, size?.height ?? 0)
        canvas = Frame(w: width, h: height, bgnd: "\(RGB.black)")
        ts = milliseconds
        regions = [Region(source, alpha: 1, zorder: 0, volume: nil, w: width, h: height)]
    }

    /// The layout as JSON with its keys in alphabetical order.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

extension SEILayout.Region {
    fileprivate init(
        _ source: SourceID, alpha: Double, zorder: Int, volume: Int?, x: Int = 0, y: Int = 0, w: Int = 0, h: Int = 0
    ) {
        let name = source.rawValue
        let part = name.splitAtLast("/")?.tail ?? name[...]
        let stream = part.splitAtFirst("#")?.head ?? part
        let ofRoom = stream.splitAtFirst("@")
        self.init(
            uid: source.user.rawValue, stream: String(ofRoom?.head ?? stream),
            room: ofRoom.map { String($0.tail) }, alpha: alpha, zorder: zorder, volume: volume, x: x, y: y,
            w: w, h: h)
    }
}
