import EncodedMedia
import MixModel

/// H.264 encoding by a V4L2 device of the kernel, as on small ARM boards.
package enum V4L2Encoder: VideoEncoderKind {
    package static let name = "v4l2"
    package static let title = "Video4Linux"
    package static let codec = VideoCodec.h264
    package static let isHardware = true
    package static let element = "v4l2h264enc"

    package static func elements(_ request: EncoderRequest) -> [String] {
        let controls = [
            "video_bitrate=\(request.kilobits * 1000)", "video_bitrate_mode=1",
            "h264_i_frame_period=\(request.keyframeDistance)", "repeat_sequence_header=1",
        ]
        // Without a level, drivers choose one that is too low for the canvas.
        return [
            "videoconvert", #"v4l2h264enc extra-controls="controls,\#(controls.joined(separator: ","))""#,
            "video/x-h264,level=(string)4.2", "h264parse", EncodingSettings.Profile.h264Caps(request.profile),
        ]
    }
}
