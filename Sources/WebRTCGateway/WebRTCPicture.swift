import EncodedMedia
import MediaFormats

/// An access unit for WebRTC peers: a byte stream, with its parameter sets in band if it is an IDR.
struct WebRTCPicture: Hashable, Sendable {
    var bytes: [UInt8]
    /// Presentation time on the receivers' timeline.
    var time: MediaTime
    var isIDR: Bool

    /// Makes the pictures of a stream's frames.
    struct Maker: Sendable {
        private let converter: AccessUnitBytes
        private let lengthSize: Int

        /// Creates the maker for frames of this configuration; `nil` if it cannot be read.
        init?(_ configuration: CodecConfiguration) {
            guard let converter = AccessUnitBytes(configuration) else { return nil }
            self.converter = converter
            lengthSize = VideoConfiguration(configuration)?.lengthSize ?? 4
        }

        var codec: VideoCodec { converter.codec }

        func picture(_ frame: EncodedFrame, at time: MediaTime) -> WebRTCPicture {
            WebRTCPicture(bytes: converter.bytes(of: frame, delimits: false), time: time, isIDR: frame.isIDR)
        }

        /// Returns whether no other picture refers to this one: `nal_ref_idc` of its slices is 0 (ITU-T H.264 §7.4.1).
        /// Peers show pictures in the order of arrival, so such pictures can be dropped from reordered streams.
        func isDisposable(_ frame: EncodedFrame) -> Bool {
            let slices = NALUnits(frame.payload, lengthSize: lengthSize).filter { NALUnitKind($0, .h264).isSlice }
            return !slices.isEmpty && slices.allSatisfy { $0.first.map { $0 & 0x60 == 0 } ?? true }
        }
    }
}
