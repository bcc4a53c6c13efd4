/// A playlist received from another server (RFC 8216 §4).
///
/// Reading any bytes takes time and memory in proportion to their number, which `longest` bounds.
public enum ReceivedPlaylist: Hashable, Sendable {
    case master([ReceivedVariant])
    case media(ReceivedSegments)

    /// Largest playlist that is read, in bytes: a day of segments of two seconds.
    public static let longest = 8 << 20

    /// Reads a playlist.
    ///
    /// - Throws: `Failure`, whose description quotes only names of tags and methods from the playlist.
    public init(_ bytes: [UInt8]) throws(Failure) {
        guard bytes.count <= Self.longest else { throw Failure("is larger than \(Self.longest >> 20) MiB") }
        var lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }[...]
        guard let first = lines.popFirst(), first.starts(with: Array("#EXTM3U".utf8)) else {
            throw Failure("does not begin with #EXTM3U")
        }
        var reader = PlaylistReader()
        for line in lines { try reader.read(String(decoding: line, as: UTF8.self)) }
        self = try reader.playlist()
    }

    public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// Completes a sentence that begins with "the playlist".
        public let description: String

        init(_ description: String) { self.description = description }
    }
}

/// A variant of a master playlist (RFC 8216 §4.3.4.2).
public struct ReceivedVariant: Hashable, Sendable {
    /// Reference to its media playlist, relative to the master playlist.
    public var uri: String
    /// Peak rate in bits per second.
    public var bandwidth: Int64
    /// Pixels of a picture; `nil` if the playlist does not state them.
    public var pixels: Int64?
    /// Names of the codecs (RFC 6381); empty if the playlist does not state them.
    public var codecs: [String]
    /// Reference to the playlist of its audio, relative to the master playlist; `nil` if the variant's own playlist
    /// contains the audio.
    public var sound: String?

    /// Whether relays copy all of the named codecs.
    var isCopied: Bool { codecs.allSatisfy { $0.hasPrefix("avc1") || $0.hasPrefix("avc3") || $0.hasPrefix("mp4a.40") } }

    /// Largest picture and highest rate of a variant that is chosen if there is a choice: 1080p at 10 Mbit/s.
    public static let mostPixels: Int64 = 1920 * 1088
    public static let mostBandwidth: Int64 = 10_000_000

    /// Returns the variant to pull: the one of the highest rate within the bounds, preferring variants that need no
    /// transcoding; if none is within the bounds, the one of the lowest rate.
    public static func choose(_ variants: [ReceivedVariant]) -> ReceivedVariant? {
        let bounded = variants.filter { $0.bandwidth <= mostBandwidth && ($0.pixels ?? 0) <= mostPixels }
        guard !bounded.isEmpty else { return variants.min { $0.bandwidth < $1.bandwidth } }
        let copied = bounded.filter(\.isCopied)
        return (copied.isEmpty ? bounded : copied).max { $0.bandwidth < $1.bandwidth }
    }
}

/// The segments of a media playlist (RFC 8216 §4.3.3).
public struct ReceivedSegments: Hashable, Sendable {
    /// Target duration in seconds, 1…60.
    public var targetDuration: Double
    /// Distance from the end at which playback starts, in seconds; `nil` if the server leaves that to players.
    public var holdBack: Double?
    /// Whether no further segments will be added.
    public var isEnded = false
    /// Whether playing starts at the first segment, however old it is.
    public var isOnDemand = false
    /// The segments, with consecutive numbers.
    public var segments: [ReceivedSegment] = []
}

/// A segment of a media playlist.
public struct ReceivedSegment: Hashable, Sendable {
    /// A reference, relative to the playlist, and the range of bytes; `nil` means the whole resource.
    public struct Resource: Hashable, Sendable {
        public var uri: String
        public var range: Range<Int64>?
        public var key: Key?
    }

    /// Encryption of whole resources with AES-128 in CBC mode (RFC 8216 §5.2).
    public struct Key: Hashable, Sendable {
        public var uri: String
        /// Initialization vector, 16 bytes; `nil` means the number of the segment.
        public var vector: [UInt8]?
    }

    public var number: Int64
    public var resource: Resource
    /// The initialization section that has to be read first; `nil` for MPEG-TS.
    public var map: Resource?
    /// Duration in seconds, 0…3600.
    public var duration: Double
    /// Whether its format or its times do not continue those of the previous segment.
    public var isDiscontinuity = false
    /// Whether the server does not have the segment.
    public var isGap = false

    /// Initialization vector with which its bytes are encrypted.
    public var vector: [UInt8] {
        resource.key?.vector ?? [UInt8](repeating: 0, count: 8)
            + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}
