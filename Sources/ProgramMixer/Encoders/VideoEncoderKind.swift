import EncodedMedia
import MixModel

/// A way to encode the canvas: GStreamer elements with their settings.
///
/// Every kind outputs a picture before it is given the next one, and an IDR where one is requested.
/// `VideoEncoderKinds.all` lists the kinds; CONTRIBUTING.md describes how to add one.
package protocol VideoEncoderKind: Sendable {
    /// Name in the configuration (`mixer.encoder`) and in `mixworker doctor`: lower-case letters and digits.
    static var name: String { get }
    /// Display name.
    static var title: String { get }
    static var codec: VideoCodec { get }
    /// Whether a hardware device encodes, which may be missing, busy, or fail at any time. The parameter sets of its
    /// H.264 streams are renumbered afterwards.
    static var isHardware: Bool { get }
    /// The element that encodes.
    static var element: String { get }

    /// Returns the elements, in pipeline syntax, that turn pictures into access units with their configuration (`avc`
    /// or `hvc1`). In H.264 from software, SPS and PPS have the number `ParameterSetNumber.ofMix`.
    static func elements(_ request: EncoderRequest) -> [String]
}

/// The number of a mix's SPS and PPS.
package enum ParameterSetNumber {
    /// Sources nearly always use 0. With another number, a viewer's parser can keep both sets and reads the access
    /// units around a splice with the right one (docs/adr/0006-parameter-sets-of-a-mix.md).
    package static let ofMix = 7
}

extension EncodingSettings.Profile {
    /// Caps after an H.264 encoder, which select the profile; `nil` means the encoder's choice.
    static func h264Caps(_ profile: Self?) -> String {
        let name =
            switch profile {
            case nil: ""
            case .baseline: ",profile=constrained-baseline"
            case .main: ",profile=main"
            case .high: ",profile=high"
            }
        return "video/x-h264,stream-format=avc,alignment=au\(name)"
    }
}
