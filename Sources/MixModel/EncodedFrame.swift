/// The two elementary streams of a source or a program.
public enum Track: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case audio = 8
    case video = 9
}

/// One H.264 access unit or one AAC frame, payload untouched.
public struct EncodedFrame: Hashable, Sendable {
    public var track: Track
    /// When it is shown or heard.
    public var pts: MediaTime
    /// When it is decoded; equal to `pts` for audio and for video without B-frames.
    public var dts: MediaTime
    /// True only for video access units that hold an IDR picture.
    public var isIDR: Bool
    /// H.264: NAL units, each behind its length in as many bytes as the configuration says, nearly always 4
    /// (ISO/IEC 14496-15 §5.3.4.2). AAC: one raw data block.
    public var payload: [UInt8]

    public init(track: Track, pts: MediaTime, dts: MediaTime, isIDR: Bool = false, payload: [UInt8]) {
        self.track = track
        self.pts = pts
        self.dts = dts
        self.isIDR = isIDR
        self.payload = payload
    }
}

/// What a decoder must know before the first frame of a track.
public struct CodecConfiguration: Hashable, Sendable {
    public var track: Track
    /// H.264: AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1). AAC: AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2).
    public var bytes: [UInt8]

    public init(track: Track, bytes: [UInt8]) {
        self.track = track
        self.bytes = bytes
    }
}
