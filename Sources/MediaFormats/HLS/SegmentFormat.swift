import EncodedMedia
import TextFormats

/// The capabilities that a player needs for a segment, as stated in a master playlist.
public struct SegmentFormat: Hashable, Codable, Sendable {
    /// RFC 6381 name, such as `avc1.64001F` or `hvc1.1.6.L93.B0`, or both, separated by a comma; `nil` without video.
    public var videoCodec: String?
    /// RFC 6381 name, such as `mp4a.40.2`; `nil` without audio.
    public var audioCodec: String?
    public var width: Int
    public var height: Int
    /// Frame rate in thousandths of a frame per second.
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
        if let video = segment.video, let record = VideoConfiguration(video) {
            videoCodec = Self.name(record.codec, video.bytes)
            width = record.sequenceParameters?.width ?? 0
            height = record.sequenceParameters?.height ?? 0
            let counted = Double(segment.frames.count { $0.track == .video }) / segment.duration.inSeconds
            let rate = record.sequenceParameters?.frameRate ?? counted.rounded()
            // A publisher may signal any rate.
            frameRate = Int((min(max(rate, 0), 300) * 1000).rounded())
        }
        if let audio = segment.audio.flatMap({ AudioSpecificConfig($0.bytes) }) {
            audioCodec = "mp4a.40.\(audio.objectType)"
        }
    }

    /// Returns the requirements for playing both formats.
    package func joined(_ other: SegmentFormat) -> SegmentFormat {
        let largest = other.width * other.height > width * height ? other : self
        return SegmentFormat(
            videoCodec: Self.joined(videoCodec, other.videoCodec),
            audioCodec: [audioCodec, other.audioCodec].compactMap(\.self).max(), width: largest.width,
            height: largest.height, frameRate: max(frameRate, other.frameRate))
    }

    /// Returns the highest level of a codec; while the codec changes, a player needs both codecs.
    private static func joined(_ one: String?, _ other: String?) -> String? {
        let all = [one, other].compactMap(\.self).flatMap { $0.split(separator: ",").map(String.init) }
        let highest = Dictionary(grouping: all) { $0.prefix(4) }.values.compactMap { codecs in
            codecs.max { rank($0) < rank($1) }
        }
        return highest.isEmpty ? nil : highest.sorted().joined(separator: ",")
    }

    /// Ranks a codec by level, then by profile: as a rule, a decoder for the higher one decodes the other, too.
    private static func rank(_ codec: String) -> (level: Int, name: String) {
        let level =
            codec.hasPrefix("avc1")
            ? Int(codec.suffix(2), radix: 16)
            : codec.split(separator: ".").dropFirst(3).first.flatMap { Int($0.dropFirst()) }
        return (level ?? 0, codec)
    }

    /// Returns the name for `CODECS`, from a decoder configuration record.
    private static func name(_ codec: VideoCodec, _ record: [UInt8]) -> String {
        switch codec {
        case .h264: return "avc1." + Hexadecimal.text(record[1...3]).uppercased()
        case .h265:
            // ISO/IEC 14496-15 §E.3: profile, its compatibility from the lowest bit, tier and level, constraints.
            let profile = ["", "A", "B", "C"][Int(record[1] >> 6)] + "\(record[1] & 0x1F)"
            let compatibility = record.bigEndian(UInt32.self, at: 2) ?? 0
            let reversed = (0..<32).reduce(UInt32(0)) { bits, index in
                let bit = compatibility >> UInt32(index) & 1
                return bits << 1 | bit
            }
            let level = (record[1] & 0x20 == 0 ? "L" : "H") + "\(record[12])"
            let constraints = record[6...11].reversed().drop { $0 == 0 }.reversed()
            let parts = [profile, String(reversed, radix: 16, uppercase: true), level]
            return "hvc1." + (parts + constraints.map { String($0, radix: 16, uppercase: true) }).joined(separator: ".")
        }
    }
}
