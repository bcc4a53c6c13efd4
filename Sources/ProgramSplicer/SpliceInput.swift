import EncodedMedia
import MixModel

/// The origin of the program's frames: a source or a mixer.
public enum SpliceInput: Hashable, Sendable {
    /// Bypass: one source's own packets.
    case source(SourceID)
    /// The output of a mixer; each mixer process of a program has its own generation.
    case mixer(Int)

    public var isMixer: Bool {
        if case .mixer = self { true } else { false }
    }
}

/// The splicer's state of a feed.
struct SpliceInputState: Sendable {
    var video: CodecConfiguration?
    var audio: CodecConfiguration?
    /// Distance between two video frames.
    var interval = MediaTime.milliseconds(40)
    /// Length of one AAC frame.
    var audioFrame = MediaTime.units(1024, rate: 48000)
    /// PTS of the newest video frame that the feed delivered.
    var newestVideo: MediaTime?
    /// Whether a frame has been decoded earlier than it is shown; splices then need a closed boundary.
    var reorders = false
    /// For a mixer: the time by which it shows each source's frames later than at their own times. Unknown ones have no
    /// entry.
    var delays: [SourceID: MediaTime] = [:]
    /// Whether no more frames are expected.
    var isGone = false
    /// The newest audio, kept so that a splice finds the frames around a keyframe even if they arrived before it.
    var recentAudio: [EncodedFrame] = []
    private var audioBytes = 0

    static let audioMemory = MediaTime.milliseconds(2000)
    /// Limit of `recentAudio` in bytes, as counted by `EncodedFrame.footprint`: ten times the possible size of AAC for
    /// twice `audioMemory`.
    static let audioByteLimit = 8 << 20

    /// Forgets the kept audio, which cannot be decoded with the configuration of the audio that follows.
    mutating func forgetAudio() {
        recentAudio = []
        audioBytes = 0
    }

    mutating func note(video frame: EncodedFrame) {
        newestVideo = max(newestVideo ?? frame.pts, frame.pts)
        if frame.pts != frame.dts { reorders = true }
    }

    mutating func remember(audio frame: EncodedFrame) {
        recentAudio.append(frame)
        audioBytes += frame.footprint
        // Frames do not age while timestamps are constant, so their size is limited, too.
        if audioBytes > SpliceInputState.audioByteLimit {
            recentAudio = [frame]
        } else {
            guard let first = recentAudio.first, frame.pts - first.pts > SpliceInputState.audioMemory * 2 else {
                return
            }
            recentAudio.removeAll { frame.pts - $0.pts > SpliceInputState.audioMemory }
        }
        audioBytes = recentAudio.reduce(0) { $0 + $1.footprint }
    }
}
