import EncodedMedia

extension EncodingSettings.Preset {
    /// Work for a picture, relative to that of a program that names no preset (docs/adr/0039-encoder-settings.md).
    ///
    /// For H.265 it is the work beyond that of H.264 with the mixer's own settings, relative to that of `superfast`, as
    /// `CostModel` counts it. The largest number is that of `slower`: slower presets cannot be live.
    ///
    /// - Parameter codec: `nil` means H.264.
    public func effort(_ codec: VideoCodec?) -> Double {
        switch codec {
        case .h264, nil:
            switch self {
            case .ultrafast: 0.58
            case .superfast: 1
            case .veryfast: 1.65
            case .faster: 2.4
            case .fast: 4.1
            case .medium: 4.8
            case .slow: 7.8
            case .slower: 14
            case .veryslow: 27
            case .placebo: 96
            }
        case .h265:
            switch self {
            case .ultrafast: 0.64
            case .superfast: 1
            case .veryfast: 1.4
            case .faster: 1.3
            case .fast: 1.4
            case .medium: 2.6
            case .slow: 8.1
            case .slower, .veryslow, .placebo: 33
            }
        }
    }
}
