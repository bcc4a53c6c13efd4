import Foundation
import MixModel

/// Settings of a transcoder. The first line that it reads.
struct RenditionSettings: Hashable, Codable, Sendable {
    var rendition: HLSRendition
}

/// A report from a transcoder to its packager. One JSON object a line.
enum RenditionReport: Codable, Sendable, ConsumerReport {
    /// An AVCDecoderConfigurationRecord. Precedes the first picture that needs it.
    case configuration(Data)
    /// An encoded picture, with `time` in ms as in the FLV stream.
    case picture(time: Int64, isIDR: Bool, payload: Data)
    /// A decoder or encoder failed. The transcoder continues with a new one.
    case failed(String)

    var finalFailure: String? { nil }
}
