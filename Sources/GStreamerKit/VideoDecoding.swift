import EncodedMedia
import MediaFormats
import TextFormats

/// The part of a pipeline that decodes pictures of one configuration.
package struct VideoDecoding {
    /// The decoder, in the notation of a pipeline description. Frame threading would hold back one picture per thread,
    /// and `strict` the largest possible reordering.
    package let element: String
    /// Caps of the decoder's input, including the configuration.
    package let caps: String
    package let parameters: SequenceParameterSet

    /// Creates the part; `nil` if the configuration cannot be read.
    package init?(_ configuration: CodecConfiguration) {
        guard let record = VideoConfiguration(configuration), let parameters = record.sequenceParameters else {
            return nil
        }
        self.parameters = parameters
        let (decoder, format) =
            switch record.codec {
            case .h264: ("avdec_h264", "video/x-h264,stream-format=avc")
            case .h265: ("avdec_h265", "video/x-h265,stream-format=hev1")
            }
        element = "\(decoder) max-threads=1 std-compliance=normal"
        caps = "\(format),alignment=au,codec_data=(buffer)\(Hexadecimal.text(configuration.bytes))"
    }
}
