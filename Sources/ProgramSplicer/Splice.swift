import EncodedMedia

/// A completed change of feed, measured on the program's own timeline.
public struct Splice: Hashable, Sendable {
    public var from: SpliceInput?
    public var to: SpliceInput
    /// PTS of the first video frame of the new feed.
    public var at: MediaTime
    /// Program time at which the first frame of the new feed went out.
    public var performedAt: MediaTime
    /// Program time from which pictures were held for the splice; `nil` if none were.
    public var heldAt: MediaTime?
    /// Time from the last video frame before the splice to the first one after it; `nil` at the start of the program.
    public var videoGap: MediaTime?
    /// Time from the last audio frame before the splice to the first one after it; `nil` if one of the feeds has no
    /// audio.
    public var audioGap: MediaTime?

    public init(
        from: SpliceInput?, to: SpliceInput, at: MediaTime, performedAt: MediaTime, videoGap: MediaTime?,
        audioGap: MediaTime?, heldAt: MediaTime? = nil
    ) {
        self.from = from
        self.to = to
        self.at = at
        self.performedAt = performedAt
        self.heldAt = heldAt
        self.videoGap = videoGap
        self.audioGap = audioGap
    }
}
