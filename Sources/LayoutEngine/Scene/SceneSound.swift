/// The sources that are heard in a mix, and their gains.
public struct SceneSound: Hashable, Codable, Sendable {
    /// One entry per stream that may be heard, ordered by the sources' names. All other streams are silent.
    public var levels: [Level]
    /// The number of sources heard at a time, the loudest ones; `nil` = all.
    public var loudest: Int?

    public init(levels: [Level] = [], loudest: Int? = nil) {
        self.levels = levels
        self.loudest = loudest
    }

    public struct Level: Hashable, Codable, Sendable {
        public var source: String
        /// Gain in percent of the source's own amplitude, 1…400.
        public var gain: Int

        public init(source: String, gain: Int = 100) {
            self.source = source
            self.gain = gain
        }
    }
}
