import EncodedMedia
import MixModel

/// H.264 encoding in software, by x264.
package enum X264Encoder: VideoEncoderKind {
    package static let name = "x264"
    package static let title = "x264 (software)"
    package static let codec = VideoCodec.h264
    package static let isHardware = false
    package static let element = "x264enc"

    package static func elements(_ request: EncoderRequest) -> [String] {
        let settings =
            (request.preset ?? request.tuning.preset).map { X264Settings($0) } ?? .own(profile: request.profile)
        // `insert-vui` would signal the raw caps, which cannot leave the colour unsignalled; x264's own options can.
        let options =
            settings.options + ["weightp=0", "sps-id=\(ParameterSetNumber.ofMix)"] + request.colour.x264Options
        return [
            """
            x264enc tune=zerolatency speed-preset=\(settings.preset.rawValue) threads=\(request.tuning.threads) \
            bitrate=\(request.kilobits) vbv-buf-capacity=1000 key-int-max=\(request.keyframeDistance) bframes=0 \
            byte-stream=false aud=false insert-vui=false option-string="\(options.joined(separator: ":"))"
            """,
            EncodingSettings.Profile.h264Caps(request.profile),
        ]
    }
}
