/// How a mix is encoded. What is `nil` is as without these settings: the service's own choice for video, the host's
/// format for sound.
///
/// A bypass is copied and none of it applies there, but for `audioOnly`.
public struct EncodingSettings: Hashable, Codable, Sendable {
    /// `nil` = H.264.
    public var videoCodec: VideoCodec?
    /// In bit/s.
    public var videoBitrate: Int?
    /// Longest distance of two IDR frames, in frames.
    public var gopFrames: Int?
    public var profile: Profile?
    public var preset: Preset?
    /// In bit/s.
    public var audioBitrate: Int?
    /// 1 or 2.
    public var audioChannels: Int?
    /// In Hz; one of `sampleRates`.
    public var audioSampleRate: Int?
    /// The program has no video track, in a mix as in a bypass.
    public var audioOnly: Bool

    /// Of H.264 (ITU-T H.264 §A.2); `baseline` is the constrained one. H.265 has `main` alone (ITU-T H.265 §A.3.2).
    public enum Profile: String, Hashable, Codable, Sendable, CaseIterable {
        case baseline, main, high
    }

    /// How much work the encoder puts into a picture, by the names that x264 and x265 share.
    public enum Preset: String, Hashable, Codable, Sendable, CaseIterable {
        case ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow, placebo
    }

    /// Those of the codec.
    public var profiles: [Profile] { videoCodec == .h265 ? [.main] : Profile.allCases }

    public static let videoBitrates = 1_000...10_000_000
    public static let gops = 1...600
    public static let audioBitrates = 8_000...500_000
    public static let channelCounts = 1...2
    public static let sampleRates = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000]

    public init(
        videoCodec: VideoCodec? = nil, videoBitrate: Int? = nil, gopFrames: Int? = nil, profile: Profile? = nil,
        preset: Preset? = nil, audioBitrate: Int? = nil, audioChannels: Int? = nil, audioSampleRate: Int? = nil,
        audioOnly: Bool = false
    ) {
        self.videoCodec = videoCodec
        self.videoBitrate = videoBitrate
        self.gopFrames = gopFrames
        self.profile = profile
        self.preset = preset
        self.audioBitrate = audioBitrate
        self.audioChannels = audioChannels
        self.audioSampleRate = audioSampleRate
        self.audioOnly = audioOnly
    }
}
