import EncodedMedia
import LayoutEngine

/// A message from a relay to its mixer. `MixerMessage+Wire.swift` defines its bytes.
public enum MixerCommand: Hashable, Sendable {
    case start(MixerSetup)
    /// The complete scene to draw and play from the next frame on: a mixer's first, or one that replaces all earlier
    /// ones.
    case scene(Scene)
    /// The difference from the last scene that was sent. It takes effect as a whole, between two frames.
    case sceneChange(SceneDifference)
    /// The configuration of a source's track, sent before its first frame and when its encoder changes.
    case configuration(SourceID, CodecConfiguration)
    case frame(SourceID, EncodedFrame)
    /// The end of a source's stream. Its picture is removed with the next scene.
    case ended(SourceID)
    /// No data of this track has arrived for a while: the mix waits for nothing beyond what the source's decoder has,
    /// until its next frame.
    case stalled(SourceID, Track)
    /// A request for an IDR frame at this program time.
    case requestIDR(MediaTime)
    /// A request to render only every n-th canvas frame from now on, 1…`mostFrameDivisor`. Frames requested as IDR are
    /// always rendered.
    case frameDivisor(Int)
    /// The latest program time of pictures that may be rendered until further notice; `nil` means any. This keeps a
    /// twin behind the mixer on air.
    case pictures(until: MediaTime?)
    /// Whether the mixer reports the volumes of sources, several times a second. Off by default.
    case reportVolumes(Bool)
    /// Media to play from now on as the source `SourceID.idle`, in place of earlier media; `nil` ends them.
    case play(MixerPlaylist?)
    case stop

    /// Version of the messages in both directions, carried by `start`. A mixer accepts no other.
    public static let version = 6
    public static let mostFrameDivisor = 16
}

/// A message from a mixer to its relay.
public enum MixerReport: Hashable, Sendable {
    case configuration(CodecConfiguration)
    /// An encoded frame in program time. Timestamps of audio are already corrected for the encoder's priming.
    case frame(EncodedFrame)
    /// A source could not be decoded; the mix goes on without it.
    case sourceFailed(SourceID, reason: String)
    /// Loudness of each source in the mix, 0…255. A full-scale sine has 255.
    case volumes([SourceID: Int])
    /// Delays by which sources are shown later than their own times, from the next frame on. Only for sources whose
    /// frames the mix shows one by one.
    case delays([SourceID: MediaTime])
    /// A message for operators, as in `RelayReport.note`, for example about an image that cannot be shown.
    case note(code: String, message: String)
    /// The media being played from the list given by `play`, and the index of the item in it.
    case idle(IdleStatus, item: Int)
    /// A fatal failure. The mixer ends itself after this.
    case failed(reason: String)
}

/// The idle media that a mixer plays.
public struct MixerPlaylist: Hashable, Codable, Sendable {
    public var plan: IdlePlan
    /// Index of the item to start with.
    public var first: Int
    /// Indices of items to skip.
    public var skipped: Set<Int>

    public init(plan: IdlePlan, first: Int = 0, skipped: Set<Int> = []) {
        self.plan = plan
        self.first = first
        self.skipped = skipped
    }

    /// Whether the indices are those of items.
    var isSound: Bool {
        1...IdleSettings.mostMedia ~= plan.items.count && plan.items.indices.contains(first)
            && skipped.allSatisfy(plan.items.indices.contains)
    }
}

/// The setup of a mixer, sent once before anything else.
public struct MixerSetup: Hashable, Codable, Sendable {
    public var canvas: Canvas
    /// Program time of the first video frame; frame `k` is at `origin + k / fps`.
    public var videoOrigin: MediaTime
    /// Program time of the first audio frame; frame `m` is at `origin + m · 1024 / sampleRate`.
    public var audioOrigin: MediaTime
    /// CLOCK_MONOTONIC at program time 0, in ns.
    public var programStart: Int64
    /// Audio sample rate. 8000…48000 Hz.
    public var sampleRate: Int
    /// Number of audio channels, 1 or 2.
    public var channels: Int
    /// Colour description that the program signals in the SPS.
    public var colour: ColourSignal
    /// Video bit rate, in bit/s.
    public var videoBitrate: Int
    /// Audio bit rate, in bit/s.
    public var audioBitrate: Int
    /// Source whose frame grid the mixer follows.
    public var host: SourceID?
    /// Tracks to produce; `nil` means both.
    public var tracks: SourceSelection.Tracks?
    /// Maximum distance between two IDR frames, in frames; `nil` means two seconds.
    public var gopFrames: Int?
    /// Video codec; `nil` means H.264.
    public var videoCodec: VideoCodec?
    /// H.264 or H.265 profile; `nil` means the encoder's choice.
    public var profile: EncodingSettings.Profile?
    public var preset: EncodingSettings.Preset?
    /// Number of threads that encode one picture; `nil` means as many as the canvas needs.
    public var threads: Int?

    /// Whether all numbers are within their ranges.
    var isSound: Bool {
        canvas.isPlausible && 8000...48000 ~= sampleRate && 1...2 ~= channels && gopFrames ?? 1 >= 1
            && EncodingSettings.threadCounts ~= threads ?? 1
    }

    /// Longest distance between two keyframes if the task sets none, in seconds.
    public static let keyframeSeconds = 2

    /// Longest distance between two keyframes, in frames of the canvas.
    public var keyframeDistance: Int { gopFrames ?? canvas.fps * Self.keyframeSeconds }

    /// Whether video is composed.
    public var hasVideo: Bool { tracks != .audio }

    public init(
        canvas: Canvas, videoOrigin: MediaTime, audioOrigin: MediaTime, programStart: Int64, sampleRate: Int,
        channels: Int, colour: ColourSignal, videoBitrate: Int, audioBitrate: Int, host: SourceID?,
        tracks: SourceSelection.Tracks? = nil, gopFrames: Int? = nil, videoCodec: VideoCodec? = nil,
        profile: EncodingSettings.Profile? = nil, preset: EncodingSettings.Preset? = nil,
        threads: Int? = nil
    ) {
        self.canvas = canvas
        self.videoOrigin = videoOrigin
        self.audioOrigin = audioOrigin
        self.programStart = programStart
        self.sampleRate = sampleRate
        self.channels = channels
        self.colour = colour
        self.videoBitrate = videoBitrate
        self.audioBitrate = audioBitrate
        self.host = host
        self.tracks = tracks
        self.gopFrames = gopFrames
        self.videoCodec = videoCodec
        self.profile = profile
        self.preset = preset
        self.threads = threads
    }
}
