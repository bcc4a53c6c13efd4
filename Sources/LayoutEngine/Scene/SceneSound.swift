/// Who is heard in a mix, and how loud.
public struct SceneSound: Hashable, Codable, Sendable {
    /// One entry a stream that may be heard, in the order of the sources' names; everybody else is silent.
    public var levels: [Level]
    /// Only so many of the loudest are heard at a time; `nil` = all.
    public var loudest: Int?

    public init(levels: [Level] = [], loudest: Int? = nil) {
        self.levels = levels
        self.loudest = loudest
    }

    public struct Level: Hashable, Codable, Sendable {
        public var source: String
        /// In percent of the source's own amplitude: 1…400.
        public var gain: Int

        public init(source: String, gain: Int = 100) {
            self.source = source
            self.gain = gain
        }
    }
}
