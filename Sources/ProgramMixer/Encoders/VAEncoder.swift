import EncodedMedia
import MixModel

/// H.264 encoding on graphics with a VA-API driver (AMD, Intel).
package enum VAEncoder: VideoEncoderKind {
    package static let name = "va"
    package static let title = "VA-API"
    package static let codec = VideoCodec.h264
    package static let isHardware = true
    package static let element = "vah264enc"

    package static func elements(_ request: EncoderRequest) -> [String] {
        [
            "videoconvert", "video/x-raw,format=NV12",
            """
            vah264enc rate-control=cbr b-frames=0 aud=false bitrate=\(request.kilobits) \
            cpb-size=\(request.kilobits) key-int-max=\(request.keyframeDistance)
            """,
            "h264parse", EncodingSettings.Profile.h264Caps(request.profile),
        ]
    }
}
