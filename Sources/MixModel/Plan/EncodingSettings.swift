import EncodedMedia

/// The settings for encoding a mix. For a video setting that is `nil`, the service chooses; for an audio setting that
/// is `nil`, the mix follows the host's format.
///
/// A bypass is copied, so that only `audioOnly` applies to it.
public struct EncodingSettings: Hashable, Codable, Sendable {
    /// Video codec; `nil` means H.264.
    public var videoCodec: VideoCodec?
    /// Video bit rate, in bit/s.
    public var videoBitrate: Int?
    /// Maximum distance between two IDR frames, in frames.
    public var gopFrames: Int?
    public var profile: Profile?
    public var preset: Preset?
    /// Number of threads that encode one picture; `nil` means as many as the canvas needs.
    public var threads: Int?
    /// Audio bit rate, in bit/s.
    public var audioBitrate: Int?
    /// Number of audio channels, 1 or 2.
    public var audioChannels: Int?
    /// Audio sample rate in hertz, one of `sampleRates`.
    public var audioSampleRate: Int?
    /// Whether the program has no video track, in a mix as in a bypass.
    public var audioOnly: Bool

    /// A profile of H.264 (ITU-T H.264 §A.2); `baseline` is the constrained one. H.265 has only `main` (ITU-T H.265
    /// §A.3.2).
    public enum Profile: String, Hashable, Codable, Sendable, CaseIterable {
        case baseline, main, high
    }

    /// The effort that the encoder spends on a picture, by the names that x264 and x265 share.
    public enum Preset: String, Hashable, Codable, Sendable, CaseIterable {
        case ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow, placebo
    }

    /// Profiles of the codec.
    public var profiles: [Profile] { videoCodec == .h265 ? [.main] : Profile.allCases }

    public static let videoBitrates = 1_000...10_000_000
    public static let gops = 1...600
    public static let threadCounts = 1...16
    public static let audioBitrates = 8_000...500_000
    public static let channelCounts = 1...2
    public static let sampleRates = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000]

    public init(
        videoCodec: VideoCodec? = nil, videoBitrate: Int? = nil, gopFrames: Int? = nil, profile: Profile? = nil,
        preset: Preset? = nil, threads: Int? = nil, audioBitrate: Int? = nil, audioChannels: Int? = nil,
        audioSampleRate: Int? = nil,
        audioOnly: Bool = false
    ) {
        self.videoCodec = videoCodec
        self.videoBitrate = videoBitrate
        self.gopFrames = gopFrames
        self.profile = profile
        self.preset = preset
        self.threads = threads
        self.audioBitrate = audioBitrate
        self.audioChannels = audioChannels
        self.audioSampleRate = audioSampleRate
        self.audioOnly = audioOnly
    }
}
