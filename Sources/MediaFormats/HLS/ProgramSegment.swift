import EncodedMedia

/// A piece of a program that players fetch as one file.
public struct ProgramSegment: Hashable, Sendable {
    /// Start on the program's timeline.
    public var start: MediaTime
    public var duration: MediaTime
    /// Frames in the order in which they are to be written.
    public var frames: [EncodedFrame]
    public var video: CodecConfiguration?
    public var audio: CodecConfiguration?
    /// Whether codecs, tracks or times do not continue from the previous segment.
    public var isDiscontinuity: Bool
    /// Whether the segment begins with an IDR, or has no video.
    public var isIndependent: Bool
    /// Start of the segment in ms since 1970.
    public var wallClock: Int64

    package init(
        start: MediaTime,
        duration: MediaTime,
        frames: [EncodedFrame],
        video: CodecConfiguration? = nil,
        audio: CodecConfiguration? = nil,
        isDiscontinuity: Bool,
        isIndependent: Bool,
        wallClock: Int64
    ) {
        self.start = start
        self.duration = duration
        self.frames = frames
        self.video = video
        self.audio = audio
        self.isDiscontinuity = isDiscontinuity
        self.isIndependent = isIndependent
        self.wallClock = wallClock
    }
}
