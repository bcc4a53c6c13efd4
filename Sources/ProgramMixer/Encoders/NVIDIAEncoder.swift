import EncodedMedia
import MixModel

/// H.264 encoding on an NVIDIA card (NVENC).
package enum NVIDIAEncoder: VideoEncoderKind {
    package static let name = "nvidia"
    package static let title = "NVIDIA NVENC"
    package static let codec = VideoCodec.h264
    package static let isHardware = true
    package static let element = "nvh264enc"

    package static func elements(_ request: EncoderRequest) -> [String] {
        [
            "videoconvert", "video/x-raw,format=NV12",
            """
            nvh264enc preset=low-latency-hq rc-mode=cbr zerolatency=true bframes=0 rc-lookahead=0 aud=false \
            bitrate=\(request.kilobits) gop-size=\(request.keyframeDistance)
            """,
            "h264parse", EncodingSettings.Profile.h264Caps(request.profile),
        ]
    }
}
