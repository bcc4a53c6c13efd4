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

    /// Facts about the publisher of a source that the picture does not state.
    public struct Person: Hashable, Sendable {
        /// Display name; `nil` if there is none.
        public var name: String?
        /// Whether the service can play the stream alone.
        public var isPlayable: Bool

        public init(name: String? = nil, isPlayable: Bool = true) {
            self.name = name
            self.isPlayable = isPlayable
        }
    }

    /// Longest display name, in bytes of UTF-8. Longer ones are shortened.
    package static let longestName = 96

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
        /// Display name; absent if there is none, or if it is `uid`.
        public var name: String?
        /// False if the service cannot play the stream alone; otherwise absent.
        public var alone: Bool?
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
    /// - Parameters:
    ///   - volumes: Volumes of a mix by source, 0…255.
    ///   - people: The publishers by source.
    public init(
        _ picture: Picture, volumes: [SourceID: Int], people: [SourceID: Person] = [:], at milliseconds: Int64
    ) {
        switch picture {
        case .bypass(let source, let size):
            self.init(bypass: source, size: size, person: people[source], at: milliseconds)
        case .mix(let scene): self.init(scene: scene, volumes: volumes, people: people, at: milliseconds)
        }
    }

    /// Creates the layout of a mix.
    ///
    /// A participant who is kept in the picture without a stream is called as on their card, and cannot be played.
    ///
    /// - Parameters:
    ///   - volumes: Volumes by source, 0…255.
    ///   - people: The publishers by source.
    public init(
        scene: Scene, volumes: [SourceID: Int], people: [SourceID: Person] = [:], at milliseconds: Int64
    ) {
        canvas = Frame(w: scene.canvas.width, h: scene.canvas.height, bgnd: "\(scene.canvas.background)")
        ts = milliseconds
        let heard = scene.sound.levels.map(\.source)
        regions = scene.panes.filter { !$0.user.isEmpty }.map { pane in
            let id = SourceID(pane.source)
            let person: Person? = people[id] ?? (pane.isLive ? nil : Person(name: pane.card.name, isPlayable: false))
            return Region(
                id, person, alpha: pane.opacity.value, zorder: pane.z, volume: volumes[id] ?? 0, x: pane.x, y: pane.y,
                w: pane.width, h: pane.height)
        }
        let seen = Set(scene.panes.map(\.source))
        regions += heard.filter { !seen.contains($0) }.map { source in
            let id = SourceID(source)
            return Region(id, people[id], alpha: 1, zorder: 0, volume: volumes[id] ?? 0)
        }
    }

    /// Creates the layout of a bypass: one participant fills the picture, at an unknown volume.
    public init(
        bypass source: SourceID, size: LayoutParticipant.Size?, person: Person? = nil, at milliseconds: Int64
    ) {
        let (width, height) = (size?.width ?? 0, size?.height ?? 0)
        canvas = Frame(w: width, h: height, bgnd: "\(RGB.black)")
        ts = milliseconds
        regions = [Region(source, person, alpha: 1, zorder: 0, volume: nil, w: width, h: height)]
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
        _ source: SourceID, _ person: SEILayout.Person?, alpha: Double, zorder: Int, volume: Int?, x: Int = 0,
        y: Int = 0, w: Int = 0, h: Int = 0
    ) {
        let name = source.rawValue
        let part = name.splitAtLast("/")?.tail ?? name[...]
        let stream = part.splitAtFirst("#")?.head ?? part
        let ofRoom = stream.splitAtFirst("@")
        let kind = String(ofRoom?.head ?? stream)
        // Cameras and screens have addresses of their own (WHEP), but not a stream of audio beside them.
        let isPlayable = (person?.isPlayable ?? true) && kind != StreamKind.audio.rawValue
        let user = source.user.rawValue
        let shown = person?.name.flatMap { $0.isEmpty || $0.hasSameUTF8(as: user) ? nil : $0 }
        self.init(
            uid: user, stream: kind, room: ofRoom.map { String($0.tail) },
            name: shown?.shortened(toBytes: SEILayout.longestName), alone: isPlayable ? nil : false,
            alpha: alpha, zorder: zorder, volume: volume, x: x, y: y, w: w, h: h)
    }
}
