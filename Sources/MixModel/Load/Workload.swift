import EncodedMedia
import LayoutEngine

/// The work that a program causes, in the quantities that its cost grows with. Pure; `CostModel` converts it into
/// cores.
public struct Workload: Hashable, Codable, Sendable {
    /// Number of streams pulled and outputs pushed by the relay.
    public var copies: Int
    /// Work of the mixer; `nil` in a bypass, which needs none.
    public var mix: Mix?
    /// Whether a second mixer does the same work; `nil` means no.
    public var hasTwin: Bool?

    /// A mixer's work.
    public struct Mix: Hashable, Codable, Sendable {
        /// Pixels composed and encoded, in megapixels per second.
        public var composed: Double
        /// Pixels decoded, in megapixels per second.
        public var decoded: Double
        /// Pixels scaled into panes, in megapixels per second. Moving pictures also cost the encoder more.
        public var scaled: Double
        /// Number of streams whose audio is decoded.
        public var sounds: Int
        /// Part of `composed` that is encoded as H.265 instead of H.264, in megapixels per second at the preset of
        /// programs that name none; `nil` means none.
        public var encodedH265: Double?
        /// Work that the program's H.264 preset adds to that of the mixer's own settings, as megapixels per second
        /// encoded with these; `nil` means none.
        public var presetWork: Double?

        public init(
            composed: Double, decoded: Double, scaled: Double, sounds: Int, encodedH265: Double? = nil,
            presetWork: Double? = nil
        ) {
            self.composed = composed
            self.decoded = decoded
            self.scaled = scaled
            self.sounds = sounds
            self.encodedH265 = encodedH265
            self.presetWork = presetWork
        }

        /// Adds the work of encoding `composed` with these settings; `nil` means those of a program that names none.
        mutating func encode(with encoding: EncodingSettings?) {
            let effort = encoding?.preset.map { $0.effort(encoding?.videoCodec) } ?? 1
            switch encoding?.videoCodec {
            case .h265: encodedH265 = composed * effort
            case .h264, nil: presetWork = effort > 1 ? composed * (effort - 1) : nil
            }
        }
    }

    /// The pictures of one stream.
    public struct Pictures: Hashable, Codable, Sendable {
        /// Width, in pixels.
        public var width: Int
        /// Height, in pixels.
        public var height: Int
        /// Pictures per second.
        public var rate: Double

        public init(width: Int, height: Int, rate: Double) {
            self.width = width
            self.height = height
            self.rate = rate
        }

        /// Assumption about a stream of which nothing is known yet: a phone's camera.
        public static let assumed = Pictures(width: 720, height: 1280, rate: 25)

        var megapixels: Double { Double(width) * Double(height) * rate / 1e6 }
    }

    public init(copies: Int, mix: Mix? = nil) {
        self.copies = copies
        self.mix = mix
    }

    /// Creates the workload of a program.
    ///
    /// - Parameters:
    ///   - pictures: Pictures of the streams for which they are known.
    ///   - frameDivisor: Distance between rendered canvas frames, in frames; at least 1.
    ///   - hasVideo: Whether the program has a picture at all.
    ///   - encoding: Settings of the mix; `nil` means the service's choice.
    public init(
        mode: ProgramPlan.Mode, scene: Scene, sources: [PlannedSource], outputs: Int,
        pictures: [SourceID: Pictures] = [:], frameDivisor: Int = 1, hasVideo: Bool = true,
        encoding: EncodingSettings? = nil, redundancy: MixRedundancy? = nil
    ) {
        copies = sources.count + outputs
        if case .bypass = mode { return }
        let frames = hasVideo ? Double(scene.canvas.fps) / Double(max(1, frameDivisor)) : 0
        let panes = scene.panes.filter(\.isLive).reduce(0) { $0 + $1.width * $1.height }
        let composed = Double(scene.canvas.width * scene.canvas.height) * frames / 1e6
        var mix = Mix(
            composed: composed,
            decoded: sources.filter(\.video).reduce(0) { $0 + (pictures[$1.id] ?? .assumed).megapixels },
            scaled: Double(panes) * frames / 1e6, sounds: sources.count(where: \.audio))
        mix.encode(with: encoding)
        self.mix = mix
        if case .mix = mode, hasVideo, redundancy == .twin { hasTwin = true }
    }

    /// Returns this workload, in which every frame is rendered, reduced to every n-th canvas frame, where n is
    /// `frameDivisor`.
    public func divided(by frameDivisor: Int) -> Workload {
        var divided = self
        divided.mix?.composed /= Double(max(1, frameDivisor))
        divided.mix?.scaled /= Double(max(1, frameDivisor))
        divided.mix?.encodedH265 = mix?.encodedH265.map { $0 / Double(max(1, frameDivisor)) }
        divided.mix?.presetWork = mix?.presetWork.map { $0 / Double(max(1, frameDivisor)) }
        return divided
    }

    /// Returns the workload of a mix of two participants on this canvas, for a room that may become one.
    public static func mixOfTwo(
        on canvas: Canvas, encoding: EncodingSettings? = nil, redundancy: MixRedundancy? = nil
    ) -> Workload {
        let pixels = Double(canvas.width * canvas.height * canvas.fps) / 1e6
        var mix = Mix(composed: pixels, decoded: 2 * Pictures.assumed.megapixels, scaled: pixels, sounds: 2)
        mix.encode(with: encoding)
        var work = Workload(copies: 1, mix: mix)
        if redundancy == .twin { work.hasTwin = true }
        return work
    }
}

extension Workload {
    /// Number of mixers that do the work of `mix`.
    var mixers: Double { mix == nil ? 0 : hasTwin ?? false ? 2 : 1 }

    /// Quantities that the relay's cost is proportional to, the constant part first.
    var relayFeatures: [Double] { [1, Double(copies)] }

    /// Quantities that the mixer's cost is proportional to, the constant part first; `nil` without a mixer.
    var mixerFeatures: [Double]? {
        mix.map {
            [1, $0.composed, $0.decoded, $0.scaled, Double($0.sounds), $0.encodedH265 ?? 0, $0.presetWork ?? 0]
        }
    }
}
