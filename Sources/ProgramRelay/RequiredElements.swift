/// The GStreamer elements that the pipelines of relays and mixers use.
public enum RequiredElements {
    /// A required element.
    public struct Required: Hashable, Sendable {
        public let name: String
        /// The function that needs it.
        public let purpose: String
        /// The Debian package that contains it; `nil` if `GStreamerRuntime` knows it.
        public let package: String?

        package init(name: String, purpose: String, package: String? = nil) {
            self.name = name
            self.purpose = purpose
            self.package = package
        }
    }

    public static let all: [Required] =
        ofPulls + [
            Required(name: "rtmp2sink", purpose: "pushing programs to RTMP destinations that require a user name"),
            Required(
                name: "srtsink", purpose: "pushing programs to SRT destinations", package: "gstreamer1.0-plugins-bad"),
            Required(name: "appsrc", purpose: "every pipeline"),
            Required(name: "appsink", purpose: "every pipeline"),
            Required(name: "avdec_h264", purpose: "decoding video"),
            Required(name: "avdec_aac", purpose: "decoding audio"),
            Required(name: "audioconvert", purpose: "mixing audio"),
            Required(name: "audioresample", purpose: "mixing audio of other sample rates"),
            Required(name: "x264enc", purpose: "encoding the mix"),
            Required(name: "x265enc", purpose: "encoding the mix as H.265"),
            Required(name: "h265parse", purpose: "encoding the mix as H.265"),
            Required(name: "avdec_h265", purpose: "HLS renditions of H.265"),
            Required(name: "avenc_aac", purpose: "encoding the mixed audio"),
            Required(name: "rsvgdec", purpose: "drawing cards, labels, texts and previews"),
            Required(name: "pngdec", purpose: "showing PNG images"),
            Required(name: "jpegdec", purpose: "showing JPEG images"),
            Required(name: "webpdec", purpose: "showing WebP images"),
            Required(name: "videoconvert", purpose: "showing images"),
            Required(name: "videoconvertscale", purpose: "HLS renditions"),
            Required(
                name: "jpegenc", purpose: "pictures of participants and programs for operators",
                package: "gstreamer1.0-plugins-good"),
            Required(name: "videoflip", purpose: "showing images that are stored rotated"),
            Required(name: "filesrc", purpose: "playing idle media"),
            Required(name: "decodebin", purpose: "playing idle media"),
            Required(name: "deinterlace", purpose: "playing idle media"),
            Required(name: "pngenc", purpose: "writing previews as PNG"),
        ]

    /// The elements that the kinds of pull need, each once.
    private static var ofPulls: [Required] {
        var required: [Required] = []
        for kind in PullProtocols.all {
            for element in kind.elements where !required.contains(where: { $0.name == element.name }) {
                required.append(
                    Required(name: element.name, purpose: "pulling \(kind.name)", package: element.package))
            }
        }
        return required
    }
}
