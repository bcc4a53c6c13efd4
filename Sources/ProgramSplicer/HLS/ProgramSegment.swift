import MixModel

/// A piece of a program that players fetch at a time.
public struct ProgramSegment: Hashable, Sendable {
    /// On the program's timeline.
    public var start: MediaTime
    public var duration: MediaTime
    /// In the order in which they are to be written.
    public var frames: [EncodedFrame]
    public var video: CodecConfiguration?
    public var audio: CodecConfiguration?
    /// Codecs, tracks or times do not go on from the segment before.
    public var isDiscontinuity: Bool
    /// It begins with an IDR, or has no pictures.
    public var isIndependent: Bool
    /// When it began, in ms since 1970.
    public var wallClock: Int64
}
