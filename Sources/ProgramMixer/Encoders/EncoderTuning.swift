import MixModel

/// Settings of a mixer for the work that its encoders put into pictures.
public struct EncoderTuning: Hashable, Sendable {
    /// The encoder that programs without a preset get, if it works.
    package var encoder = EncoderChoice.software
    /// x264 preset for programs that name none; `nil` means the mixer's own settings (`X264Settings.own`).
    public var preset: EncodingSettings.Preset?
    /// x265 preset for programs that name none.
    public var h265Preset = EncodingSettings.Preset.superfast
    /// Threads (slices) per picture for programs that name none; 0 means as many as the canvas needs.
    public var threads: Int

    /// The presets that a mixer may be given. The others are too slow for live pictures on most machines; a program
    /// may still name one.
    public static let presets: [EncodingSettings.Preset] = [
        .ultrafast, .superfast, .veryfast, .faster, .fast, .medium,
    ]

    public init(preset: EncodingSettings.Preset? = nil, threads: Int = 0) {
        self.preset = preset
        self.threads = threads
    }
}
