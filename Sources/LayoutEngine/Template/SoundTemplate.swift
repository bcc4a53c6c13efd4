/// The audio of an arrangement as written by an operator.
public struct SoundTemplate: Hashable, Sendable {
    /// The number of sources heard at a time, the loudest ones, 1…16; `nil` = all.
    public var loudest: Int?
    /// Gains. The first one whose selector matches a stream applies; streams without a match keep their level.
    public var gains: [Gain]

    public init(loudest: Int? = nil, gains: [Gain] = []) {
        self.loudest = loudest
        self.gains = gains
    }

    public struct Gain: Hashable, Sendable {
        public var of: StreamSelector
        /// Gain in percent of the source's amplitude, 0…400; 0 = not heard.
        public var percent: Int

        public init(of selector: StreamSelector, percent: Int) {
            self.of = selector
            self.percent = percent
        }
    }

    /// Returns the audio of these streams.
    ///
    /// - Parameter streams: One entry per source.
    func sound(of streams: [LayoutParticipant]) -> SceneSound {
        var levels: [SceneSound.Level] = []
        levels.reserveCapacity(streams.count)
        for stream in streams where stream.hasAudio {
            let percent = gains.first { $0.of.matches(stream) }?.percent ?? 100
            if percent > 0 { levels.append(.init(source: stream.source, gain: min(percent, 400))) }
        }
        return SceneSound(levels: levels.sorted { $0.source < $1.source }, loudest: loudest)
    }
}
