import Foundation
import MixModel

/// What a transcoder makes: the first line that it reads.
struct RenditionSettings: Hashable, Codable, Sendable {
    var rendition: HLSRendition
}

/// What a transcoder tells its packager: one JSON object a line.
enum RenditionReport: Codable, Sendable, ConsumerReport {
    /// An AVCDecoderConfigurationRecord; before the first picture that needs it.
    case configuration(Data)
    /// `time` in ms, as FLV had it.
    case picture(time: Int64, isIDR: Bool, payload: Data)
    /// A decoder or encoder failed; it goes on with the next one.
    case failed(String)

    var finalFailure: String? { nil }
}
