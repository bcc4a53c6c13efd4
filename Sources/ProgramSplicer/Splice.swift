import MixModel

/// A change of feed that has happened, measured on the program's own timeline.
public struct Splice: Hashable, Sendable {
    public var from: Feed?
    public var to: Feed
    /// PTS of the first video frame of the new feed.
    public var at: MediaTime
    /// When it was performed: program time at which the first frame of the new feed went out.
    public var performedAt: MediaTime
    /// From the last video frame before to the first after; `nil` at the start of the program.
    public var videoGap: MediaTime?
    /// The same of audio; `nil` if one of the feeds has none.
    public var audioGap: MediaTime?

    public init(
        from: Feed?, to: Feed, at: MediaTime, performedAt: MediaTime, videoGap: MediaTime?, audioGap: MediaTime?
    ) {
        self.from = from
        self.to = to
        self.at = at
        self.performedAt = performedAt
        self.videoGap = videoGap
        self.audioGap = audioGap
    }
}
