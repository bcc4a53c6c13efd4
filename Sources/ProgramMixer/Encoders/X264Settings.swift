import MixModel

/// The x264 settings that determine its work per picture.
struct X264Settings: Hashable, Sendable {
    var preset: EncodingSettings.Preset
    /// Options that override the preset's, in x264's notation.
    var options: [String]

    private init(_ preset: EncodingSettings.Preset, _ options: [String]) {
        self.preset = preset
        self.options = options
    }

    /// Creates exactly the settings of a preset.
    init(_ preset: EncodingSettings.Preset) { self.init(preset, []) }

    /// The mixer's own settings, for programs without a preset: those of `veryfast` with less work where the loss is
    /// least visible (docs/adr/0039-encoder-settings.md).
    ///
    /// - `me=dia`: the motion search goes to the nearest neighbours only.
    /// - `scenecut=0`: no I-frames between the keyframes. Scenes change where a keyframe is requested, or move.
    /// - `partitions`: blocks are not divided for motion; for intra prediction they are divided only into 8×8, or 4×4
    ///   in profiles without the 8×8 transform.
    /// - `subme=1`: quarter pixels are searched in one step.
    /// - `aq-strength=0.5`: half as many bits move from detail to flat areas.
    static func own(profile: EncodingSettings.Profile?) -> Self {
        let partitions =
            switch profile {
            case .baseline, .main: "i4x4"
            case .high, nil: "i8x8"
            }
        return Self(
            .veryfast, ["me=dia", "scenecut=0", "partitions=\(partitions)", "subme=1", "aq-strength=0.5"])
    }
}
