import EncodedMedia
import MixModel

/// H.264 encoding on an Intel processor's graphics (Quick Sync).
package enum QuickSyncEncoder: VideoEncoderKind {
    package static let name = "quicksync"
    package static let title = "Intel Quick Sync"
    package static let codec = VideoCodec.h264
    package static let isHardware = true
    package static let element = "qsvh264enc"

    package static func elements(_ request: EncoderRequest) -> [String] {
        [
            "videoconvert", "video/x-raw,format=NV12",
            """
            qsvh264enc low-latency=true rate-control=cbr b-frames=0 bitrate=\(request.kilobits) \
            gop-size=\(request.keyframeDistance)
            """,
            "h264parse", EncodingSettings.Profile.h264Caps(request.profile),
        ]
    }
}
