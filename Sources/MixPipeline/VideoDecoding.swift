import MixModel
import ProgramSplicer

/// How a pipeline decodes pictures of one configuration.
struct VideoDecoding {
    /// The decoder as a pipeline names it. Frame threading would hold back one picture per thread; `strict` would hold back
    /// the largest possible reordering.
    let element: String
    /// What goes into it, configuration included.
    let caps: String
    let parameters: SequenceParameterSet

    /// `nil` if the configuration cannot be read.
    init?(_ configuration: CodecConfiguration) {
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
        caps = "\(format),alignment=au,codec_data=(buffer)\(configuration.bytes.hexadecimal)"
    }
}

extension [UInt8] {
    /// Two lower-case digits a byte.
    var hexadecimal: String { map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() }
}
