import MixModel

/// Settings of a mixer that control how much work its encoders do per picture.
public struct EncoderTuning: Hashable, Sendable {
    /// The encoder for programs without a preset, if it works.
    package var encoder = EncoderChoice.software
    /// x264 preset for programs that set none; `nil` means the mixer's own settings (`X264Settings.own`).
    public var preset: EncodingSettings.Preset?
    /// x265 preset for programs that set none.
    public var h265Preset = EncodingSettings.Preset.superfast
    /// Threads (slices) per picture for programs that set none; 0 means as many as the canvas needs.
    public var threads: Int

    /// The presets that may be configured for a mixer. The others are too slow for live video on most machines; a
    /// program may still set one.
    public static let presets: [EncodingSettings.Preset] = [
        .ultrafast, .superfast, .veryfast, .faster, .fast, .medium,
    ]

    public init(preset: EncodingSettings.Preset? = nil, threads: Int = 0) {
        self.preset = preset
        self.threads = threads
    }
}
