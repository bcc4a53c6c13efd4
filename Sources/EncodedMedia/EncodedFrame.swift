/// The two elementary streams of a source or a program.
public enum Track: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case audio = 8
    case video = 9
}

/// The codec of a video track; audio is always AAC. Raw values are the names used in settings.
public enum VideoCodec: String, Hashable, Codable, Sendable, CaseIterable {
    case h264, h265
}

/// An access unit of H.264 or H.265, or an AAC frame, payload untouched.
public struct EncodedFrame: Hashable, Sendable {
    public var track: Track
    /// Presentation time.
    public var pts: MediaTime
    /// Decoding time. Equal to `pts` for audio and for video without B-frames.
    public var dts: MediaTime
    /// Whether the frame is a video access unit that holds an IDR picture; in H.265, also a CRA or BLA picture.
    public var isIDR: Bool
    /// Encoded data. For video: NAL units, each preceded by its length in the number of bytes that the configuration
    /// specifies, nearly always 4 (ISO/IEC 14496-15 §5.3.4.2, §8.3.4.2). For AAC: one raw data block.
    public var payload: [UInt8]

    public init(track: Track, pts: MediaTime, dts: MediaTime, isIDR: Bool = false, payload: [UInt8]) {
        self.track = track
        self.pts = pts
        self.dts = dts
        self.isIDR = isIDR
        self.payload = payload
    }

    /// Approximate memory use, in bytes. Includes a fixed overhead, so that even one-byte frames count.
    public var footprint: Int { payload.count + 128 }
}

/// The decoder configuration of a track, needed before its first frame.
public struct CodecConfiguration: Hashable, Sendable {
    public let track: Track
    /// Codec of a video track; `nil` for audio.
    public let videoCodec: VideoCodec?
    /// Configuration record. H.264: AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1). H.265:
    /// HEVCDecoderConfigurationRecord (§8.3.3.1). AAC: AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2).
    public var bytes: [UInt8]

    /// Creates the configuration of an H.264 or AAC track.
    public init(track: Track, bytes: [UInt8]) {
        self.track = track
        self.videoCodec = track == .video ? .h264 : nil
        self.bytes = bytes
    }

    public init(_ videoCodec: VideoCodec, bytes: [UInt8]) {
        self.track = .video
        self.videoCodec = videoCodec
        self.bytes = bytes
    }
}
