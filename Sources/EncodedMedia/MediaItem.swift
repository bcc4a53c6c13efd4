/// An element of a media stream, independent of its transport format.
///
/// The items of a stream come in decoding order, tracks interleaved as they arrived. A track's configuration comes
/// before its first frame, and again when it changes.
package enum MediaItem: Hashable, Sendable {
    /// The configuration for the following frames of its track.
    case configuration(CodecConfiguration)
    /// An encoded frame, in the stream's own time.
    case frame(EncodedFrame)
    /// A break: the times of later items are unrelated to those of earlier ones.
    case discontinuity
    /// Data that belongs to no track, in the encoding of the format. In FLV, the body of a script tag (AMF0).
    case metadata([UInt8])

    /// The item's track; `nil` if it concerns all tracks.
    package var track: Track? {
        switch self {
        case .configuration(let configuration): configuration.track
        case .frame(let frame): frame.track
        case .discontinuity, .metadata: nil
        }
    }

    /// Whether the item is a frame.
    package var isFrame: Bool {
        if case .frame = self { true } else { false }
    }

    /// Whether the item is a video frame that holds an IDR picture.
    package var isIDR: Bool {
        if case .frame(let frame) = self { frame.isIDR } else { false }
    }

    /// Approximate memory use in bytes. Includes the same fixed overhead as `EncodedFrame.footprint`.
    package var footprint: Int {
        switch self {
        case .configuration(let configuration): configuration.bytes.count + 128
        case .frame(let frame): frame.footprint
        case .discontinuity: 128
        case .metadata(let bytes): bytes.count + 128
        }
    }
}
