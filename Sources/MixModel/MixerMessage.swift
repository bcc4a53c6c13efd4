import LayoutEngine

/// From a relay to its mixer. `MixerMessage+Wire.swift` has the bytes.
public enum MixerCommand: Hashable, Sendable {
    case start(MixerSetup)
    /// What is drawn and heard from the next frame on; the first scene of a mixer, or one that replaces all it knows.
    case scene(Scene)
    /// What is different from the scene told last. It takes effect whole, between two frames.
    case sceneChange(SceneDifference)
    /// Before the first frame of a track and when its encoder changes.
    case configuration(SourceID, CodecConfiguration)
    case frame(SourceID, EncodedFrame)
    /// The stream is over: what it showed is removed with the next scene.
    case ended(SourceID)
    /// The frame of this program time shall be an IDR.
    case requestIDR(MediaTime)
    /// Of the canvas's frames only each so manieth is made from now on, 1…`mostFrameDivisor`; those asked to be IDRs
    /// are always.
    case frameDivisor(Int)
    /// Whether it tells how loud the sources are, some times a second; it does not before it is told to.
    case reportVolumes(Bool)
    case stop

    /// Of the messages in both directions; `start` carries it. A mixer takes no other.
    public static let version = 4
    public static let mostFrameDivisor = 16
}

/// From a mixer to its relay.
public enum MixerReport: Hashable, Sendable {
    case configuration(CodecConfiguration)
    /// Program time; audio already freed of the encoder's priming.
    case frame(EncodedFrame)
    /// One source could not be decoded; the mix goes on without it.
    case sourceFailed(SourceID, reason: String)
    /// How loud each source is in the mix: 0…255, where a full-scale sine has 255.
    case volumes([SourceID: Int])
    /// How much later than at their own times sources are shown from the next frame on; of each whose frames the mix
    /// shows one by one.
    case delays([SourceID: MediaTime])
    /// Something an operator should read, as in `RelayReport.note`: an image that cannot be shown.
    case note(code: String, message: String)
    /// The mixer ends itself after this.
    case failed(reason: String)
}

/// What a mixer must know once, before anything else.
public struct MixerSetup: Hashable, Codable, Sendable {
    public var canvas: Canvas
    /// Program time of the first video frame; frame `k` is at `origin + k / fps`.
    public var videoOrigin: MediaTime
    /// Program time of the first audio frame; frame `m` is at `origin + m · 1024 / sampleRate`.
    public var audioOrigin: MediaTime
    /// CLOCK_MONOTONIC at program time 0, in ns.
    public var programStart: Int64
    /// In Hz: 8000…48000.
    public var sampleRate: Int
    /// 1 or 2.
    public var channels: Int
    /// How the program signals its colour in the SPS.
    public var colour: ColourSignal
    /// In bit/s.
    public var videoBitrate: Int
    /// In bit/s.
    public var audioBitrate: Int
    /// The source whose frames the mixer's frame grid was laid on.
    public var host: SourceID?
    /// Of what is made; `nil` = both.
    public var tracks: SourceSelection.Tracks?
    /// Longest distance of two IDR frames, in frames; `nil` = two seconds.
    public var gopFrames: Int?
    /// `nil` = H.264.
    public var videoCodec: VideoCodec?
    /// `nil` = the encoder's choice.
    public var profile: EncodingSettings.Profile?
    public var preset: EncodingSettings.Preset?

    /// Whether its numbers are within their ranges.
    var isSound: Bool {
        canvas.isPlausible && 8000...48000 ~= sampleRate && 1...2 ~= channels && gopFrames ?? 1 >= 1
    }

    /// False: nothing is composed.
    public var hasVideo: Bool { tracks != .audio }

    public init(
        canvas: Canvas, videoOrigin: MediaTime, audioOrigin: MediaTime, programStart: Int64, sampleRate: Int,
        channels: Int, colour: ColourSignal, videoBitrate: Int, audioBitrate: Int, host: SourceID?,
        tracks: SourceSelection.Tracks? = nil, gopFrames: Int? = nil, videoCodec: VideoCodec? = nil,
        profile: EncodingSettings.Profile? = nil, preset: EncodingSettings.Preset? = nil
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
    }
}

/// Colour as an SPS signals it (ITU-T H.264 §E.2.1, tables E-3 to E-5; H.265 has the same numbers); `nil` = not signalled
/// (2, "unspecified").
public struct ColourSignal: Hashable, Codable, Sendable {
    public var primaries: Int?
    public var transfer: Int?
    public var matrix: Int?
    public var isFullRange: Bool

    public init(primaries: Int? = nil, transfer: Int? = nil, matrix: Int? = nil, isFullRange: Bool = false) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    public static let unsignalled = ColourSignal()
}
