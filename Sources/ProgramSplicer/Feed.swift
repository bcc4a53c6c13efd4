import MixModel

/// Where the program's frames come from.
public enum Feed: Hashable, Sendable {
    /// Bypass: one source's own packets.
    case source(SourceID)
    /// The picture of a mixer; each mixer process of a program has its own generation.
    case mixer(Int)

    public var isMixer: Bool {
        if case .mixer = self { true } else { false }
    }
}

/// What the splicer knows of a feed.
struct FeedState: Sendable {
    var video: CodecConfiguration?
    var audio: CodecConfiguration?
    /// Distance of two video frames.
    var interval = MediaTime.milliseconds(40)
    /// Length of one AAC frame.
    var audioFrame = MediaTime.units(1024, rate: 48000)
    /// PTS of the newest video frame it delivered.
    var newestVideo: MediaTime?
    /// True once a frame was decoded earlier than it is shown: cuts need a closed boundary.
    var reorders = false
    /// Of a mixer: how much later than at their own times it shows the frames of sources; none where it is not known.
    var delays: [SourceID: MediaTime] = [:]
    /// Nothing more is expected of it.
    var isGone = false
    /// The newest audio, so that a splice finds the frames around a keyframe although they came before it.
    var recentAudio: [EncodedFrame] = []
    private var audioBytes = 0

    static let audioMemory = MediaTime.milliseconds(2000)
    /// Of `recentAudio`, as `EncodedFrame.footprint` counts: ten times what AAC can have in twice `audioMemory`.
    static let audioByteLimit = 8 << 20

    mutating func remember(audio frame: EncodedFrame) {
        recentAudio.append(frame)
        audioBytes += frame.footprint
        // Timestamps that stand still make no frame old.
        if audioBytes > FeedState.audioByteLimit {
            recentAudio = [frame]
        } else {
            guard let first = recentAudio.first, frame.pts - first.pts > FeedState.audioMemory * 2 else { return }
            recentAudio.removeAll { frame.pts - $0.pts > FeedState.audioMemory }
        }
        audioBytes = recentAudio.reduce(0) { $0 + $1.footprint }
    }
}
