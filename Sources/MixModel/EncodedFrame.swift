/// The two elementary streams of a source or a program.
public enum Track: UInt8, Hashable, Codable, Sendable, CaseIterable {
    case audio = 8
    case video = 9
}

/// How pictures are encoded; sound is always AAC. By the names of the settings.
public enum VideoCodec: String, Hashable, Codable, Sendable, CaseIterable {
    case h264, h265
}

/// One access unit of H.264 or H.265, or one AAC frame, payload untouched.
public struct EncodedFrame: Hashable, Sendable {
    public var track: Track
    /// When it is shown or heard.
    public var pts: MediaTime
    /// When it is decoded; equal to `pts` for audio and for video without B-frames.
    public var dts: MediaTime
    /// True only for video access units that hold an IDR picture.
    public var isIDR: Bool
    /// Pictures: NAL units, each behind its length in as many bytes as the configuration says, nearly always 4
    /// (ISO/IEC 14496-15 §5.3.4.2, §8.3.4.2). AAC: one raw data block.
    public var payload: [UInt8]

    public init(track: Track, pts: MediaTime, dts: MediaTime, isIDR: Bool = false, payload: [UInt8]) {
        self.track = track
        self.pts = pts
        self.dts = dts
        self.isIDR = isIDR
        self.payload = payload
    }

    /// About the bytes of memory that it takes: frames of one byte are frames, too.
    public var footprint: Int { payload.count + 128 }
}

/// What a decoder must know before the first frame of a track.
public struct CodecConfiguration: Hashable, Sendable {
    public let track: Track
    /// `nil` for sound.
    public let videoCodec: VideoCodec?
    /// H.264: AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1). H.265: HEVCDecoderConfigurationRecord (§8.3.3.1).
    /// AAC: AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2).
    public var bytes: [UInt8]

    /// Of H.264 or AAC.
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
