import MixModel

/// What a player must be able to do to play a segment, as a master playlist says it.
public struct SegmentFormat: Hashable, Codable, Sendable {
    /// RFC 6381: `avc1.64001F`; `nil` without pictures.
    public var videoCodec: String?
    /// RFC 6381: `mp4a.40.2`; `nil` without sound.
    public var audioCodec: String?
    public var width: Int
    public var height: Int
    /// Thousandths of a frame a second.
    public var frameRate: Int

    public init(
        videoCodec: String? = nil, audioCodec: String? = nil, width: Int = 0, height: Int = 0, frameRate: Int = 0
    ) {
        self.videoCodec = videoCodec
        self.audioCodec = audioCodec
        self.width = width
        self.height = height
        self.frameRate = frameRate
    }

    public init(_ segment: ProgramSegment) {
        self.init()
        if let video = segment.video, let record = AVCConfiguration(video.bytes) {
            videoCodec = "avc1." + video.bytes[1...3].map(Self.hexadecimal).joined()
            width = record.sequenceParameters?.width ?? 0
            height = record.sequenceParameters?.height ?? 0
            let counted = Double(segment.frames.count { $0.track == .video }) / segment.duration.inSeconds
            let rate = record.sequenceParameters?.frameRate ?? counted.rounded()
            // What a publisher signals may be anything.
            frameRate = Int((min(max(rate, 0), 300) * 1000).rounded())
        }
        if let audio = segment.audio.flatMap({ AudioSpecificConfig($0.bytes) }) {
            audioCodec = "mp4a.40.\(audio.objectType)"
        }
    }

    /// What a player needs for both.
    func joined(_ other: SegmentFormat) -> SegmentFormat {
        let largest = other.width * other.height > width * height ? other : self
        return SegmentFormat(
            // Level first, then profile: what decodes the higher one decodes the other, as a rule.
            videoCodec: [videoCodec, other.videoCodec].compactMap(\.self).max { Self.rank($0) < Self.rank($1) },
            audioCodec: [audioCodec, other.audioCodec].compactMap(\.self).max(), width: largest.width,
            height: largest.height, frameRate: max(frameRate, other.frameRate))
    }

    private static func rank(_ codec: String) -> String { String(codec.suffix(2)) + codec }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
