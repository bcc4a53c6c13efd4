import EncodedMedia
import MixModel

@testable import ProgramMixer

/// Describes x264 in the role of hardware whose stream has its own parameter sets. Works unless a test makes it fail.
private func description(_ request: EncoderRequest, before: [String] = [], tune: String = "tune=zerolatency")
    -> [String]
{
    before + [
        """
        x264enc \(tune) speed-preset=ultrafast threads=1 bitrate=\(request.kilobits) vbv-buf-capacity=1000 \
        key-int-max=\(request.keyframeDistance) byte-stream=false aud=false
        """, EncodingSettings.Profile.h264Caps(request.profile),
    ]
}

/// Fails at its 21st picture.
enum BreakingEncoder: VideoEncoderKind {
    static let (name, title) = ("breaking", "breaks down")
    static let (codec, isHardware, element) = (VideoCodec.h264, true, "x264enc")
    static func elements(_ request: EncoderRequest) -> [String] {
        description(request, before: ["identity error-after=20"])
    }
}

/// Accepts its 21st picture and all later ones, but outputs nothing more.
enum HangingEncoder: VideoEncoderKind {
    static let (name, title) = ("hanging", "hangs")
    static let (codec, isHardware, element) = (VideoCodec.h264, true, "x264enc")
    static func elements(_ request: EncoderRequest) -> [String] {
        description(request, before: ["identity eos-after=20"])
    }
}

/// Fails at its first picture.
enum BrokenEncoder: VideoEncoderKind {
    static let (name, title) = ("broken", "is broken")
    static let (codec, isHardware, element) = (VideoCodec.h264, true, "x264enc")
    static func elements(_ request: EncoderRequest) -> [String] {
        description(request, before: ["identity error-after=1"])
    }
}

/// Outputs a picture only after it has received several more.
enum WaitingEncoder: VideoEncoderKind {
    static let (name, title) = ("waiting", "waits for more")
    static let (codec, isHardware, element) = (VideoCodec.h264, true, "x264enc")
    static func elements(_ request: EncoderRequest) -> [String] { description(request, tune: "rc-lookahead=20") }
}

/// Cannot be created, because its element is not installed.
enum AbsentEncoder: VideoEncoderKind {
    static let (name, title) = ("absent", "is absent")
    static let (codec, isHardware, element) = (VideoCodec.h264, true, "absenth264enc")
    static func elements(_ request: EncoderRequest) -> [String] { [element] }
}

/// Cisco's encoder, which is a different program from x264 and numbers its parameter sets from 0.
enum OpenH264Encoder: VideoEncoderKind {
    static let (name, title) = ("openh264", "OpenH264")
    static let (codec, isHardware, element) = (VideoCodec.h264, true, "openh264enc")
    static func elements(_ request: EncoderRequest) -> [String] {
        [
            "openh264enc complexity=low gop-size=\(request.keyframeDistance) bitrate=\(request.kilobits * 1000)",
            "h264parse", EncodingSettings.Profile.h264Caps(request.profile ?? .baseline),
        ]
    }
}
