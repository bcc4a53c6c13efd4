import EncodedMedia
import MixModel

/// H.265 encoding in software, by x265.
package enum X265Encoder: VideoEncoderKind {
    package static let name = "x265"
    package static let title = "x265 (software)"
    package static let codec = VideoCodec.h265
    package static let isHardware = false
    package static let element = "x265enc"

    package static func elements(_ request: EncoderRequest) -> [String] {
        // The threads of a pool work on one picture; without a pool there is one thread. All keyframes are IDR frames
        // with closed groups. The encoder delivers a byte stream.
        let preset = request.preset ?? request.tuning.h265Preset
        let kilobits = request.kilobits
        let pools = request.tuning.threads > 1 ? "\(request.tuning.threads)" : "none"
        let options =
            ["pools=\(pools)", "info=0", "open-gop=0", "vbv-maxrate=\(kilobits)", "vbv-bufsize=\(kilobits)"]
            + request.colour.x265Options
        return [
            """
            x265enc tune=zerolatency speed-preset=\(preset.rawValue) bitrate=\(kilobits) \
            key-int-max=\(request.keyframeDistance) option-string="\(options.joined(separator: ":"))"
            """,
            "h265parse", "video/x-h265,stream-format=hvc1,alignment=au",
        ]
    }
}
