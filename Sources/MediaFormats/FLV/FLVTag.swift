import EncodedMedia

/// A tag of an FLV stream (Adobe Flash Video File Format 10.1, §E.4.1).
public struct FLVTag: Hashable, Sendable {
    /// The `TagType`, as it is written.
    public enum Kind: UInt8, Hashable, Sendable {
        case audio = 8
        case video = 9
        case script = 18
    }

    /// The meaning of a tag for code that queues, drops or repeats tags.
    public enum Role: Hashable, Sendable {
        case metadata
        case sequenceHeader(Track)
        case frame(Track, isIDR: Bool)
    }

    public var role: Role
    /// Decoding time in ms, 0…2³²−1, as RTMP carries it.
    public var timestamp: UInt32
    /// Body of the tag, which follows its header.
    public var body: [UInt8]

    public init(role: Role, timestamp: UInt32, body: [UInt8]) {
        self.role = role
        self.timestamp = timestamp
        self.body = body
    }

    public var kind: Kind {
        switch role {
        case .metadata: .script
        case .sequenceHeader(.audio), .frame(.audio, _): .audio
        case .sequenceHeader(.video), .frame(.video, _): .video
        }
    }

    public var isIDR: Bool { role == .frame(.video, isIDR: true) }

    /// Approximate memory use in bytes.
    public var footprint: Int { body.count + 64 }

    /// The 9 bytes of the FLV header for audio and video, and the first back pointer (§E.2, §E.3).
    public static let fileHeader = fileHeader(of: .all)

    /// Returns the FLV header and the first back pointer for a stream of these tracks.
    public static func fileHeader(of tracks: TrackSelection) -> [UInt8] {
        let flags: UInt8 =
            switch tracks {
            case .all: 0b101
            case .audio: 0b100
            case .video: 0b001
            }
        return [0x46, 0x4C, 0x56, 1, flags, 0, 0, 0, 9, 0, 0, 0, 0]
    }

    /// Length of a tag header in bytes (§E.4.1).
    public static let headerLength = 11

    /// Number of bytes of `encoded`.
    package var encodedSize: Int { FLVTag.headerLength + body.count + 4 }

    /// The tag with its header and its back pointer.
    public var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(encodedSize)
        bytes.appendFLVTag(kind.rawValue, timestamp: timestamp, body: body)
        return bytes
    }

    /// Creates the tag of a frame. `origin` is the program time that becomes timestamp 0.
    ///
    /// H.264 and AAC are written as Adobe specifies them (§E.4.2.1, §E.4.3.1). H.265 has no number there and is written
    /// as in Enhanced RTMP v1 ("Defining Additional Video Codecs"), with `hvc1` in place of the number. Presentation
    /// times whose offset from the decoding time does not fit in 24 bits are clamped.
    public init(_ frame: EncodedFrame, videoCodec: VideoCodec = .h264, origin: MediaTime) {
        let decoding = (frame.dts - origin).roundedMilliseconds
        let presentation = (frame.pts - origin).roundedMilliseconds
        let offset = Int32(clamping: min(max(presentation - decoding, -0x80_0000), 0x7F_FFFF))
        var body: [UInt8] = []
        body.reserveCapacity(frame.payload.count + 8)
        switch frame.track {
        case .video:
            switch videoCodec {
            case .h264:
                body.append(frame.isIDR ? 0x17 : 0x27)
                body.append(1)
            case .h265: body.append(contentsOf: [frame.isIDR ? 0x91 : 0xA1] + FLVTag.hevcFourCC)
            }
            body.appendBigEndian(offset, bytes: 3)
        case .audio:
            body.append(FLVTag.aacFlags)
            body.append(1)
        }
        body.append(contentsOf: frame.payload)
        self.init(
            role: .frame(frame.track, isIDR: frame.isIDR), timestamp: UInt32(truncatingIfNeeded: decoding),
            body: body)
    }

    /// Creates the sequence header of a configuration that applies from `time` on.
    public init(_ configuration: CodecConfiguration, at time: MediaTime, origin: MediaTime) {
        let head: [UInt8] =
            switch configuration.videoCodec {
            case nil: [FLVTag.aacFlags, 0]
            case .h264: [0x17, 0, 0, 0, 0]
            case .h265: [0x90] + FLVTag.hevcFourCC
            }
        self.init(
            role: .sequenceHeader(configuration.track),
            timestamp: UInt32(truncatingIfNeeded: (time - origin).roundedMilliseconds),
            body: head + configuration.bytes)
    }

    /// Flags of every AAC tag: always marked 44 kHz, 16 bit, stereo. The actual format is in the AudioSpecificConfig
    /// (§E.4.2.1).
    private static let aacFlags: UInt8 = 0xAF

    /// FourCCs of H.264 and AAC: `avc1`, `mp4a`.
    static let avcFourCC: [UInt8] = [0x61, 0x76, 0x63, 0x31]
    static let aacFourCC: [UInt8] = [0x6D, 0x70, 0x34, 0x61]
    /// FourCC of H.265: `hvc1`.
    package static let hevcFourCC: [UInt8] = [0x68, 0x76, 0x63, 0x31]
}
