import EncodedMedia
import LayoutEngine
import MixModel

/// The requested output of a video encoder.
package struct EncoderRequest: Hashable, Sendable {
    var canvas: Canvas
    /// Bit rate, in kbit/s, held over every second.
    var kilobits: Int
    /// Longest distance between two keyframes, in frames.
    var keyframeDistance: Int
    /// Profile; `nil` means the encoder's choice.
    var profile: EncodingSettings.Profile?
    /// The preset that the program sets; `nil` means the mixer's choice.
    var preset: EncodingSettings.Preset?
    /// Colour description for the SPS.
    var colour: ColourSignal
    var tuning: EncoderTuning

    init(_ setup: MixerSetup, colour: ColourSignal, keyframeDistance: Int, tuning: EncoderTuning) {
        canvas = setup.canvas
        kilobits = max(1, setup.videoBitrate / 1000)
        self.keyframeDistance = keyframeDistance
        profile = setup.profile
        preset = setup.preset
        self.colour = colour
        self.tuning = tuning
    }
}
