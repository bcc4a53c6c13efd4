/// A segment as playlists describe it.
public struct PlaylistEntry: Hashable, Codable, Sendable {
    /// Media sequence number.
    public var number: Int
    /// URI relative to the playlist.
    public var uri: String
    /// Duration in µs.
    public var duration: Int64
    /// Start of the segment in ms since 1970.
    public var wallClock: Int64
    public var isDiscontinuity: Bool
    /// Whether the file is missing because it was not made in time.
    public var isGap: Bool
    /// Size of the file in bytes.
    public var bytes: Int
    /// CRC-32 of the file.
    public var checksum: UInt32
    public var format: SegmentFormat

    public init(
        number: Int, uri: String, duration: Int64, wallClock: Int64, isDiscontinuity: Bool = false, isGap: Bool = false,
        bytes: Int = 0, checksum: UInt32 = 0, format: SegmentFormat = SegmentFormat()
    ) {
        self.number = number
        self.uri = uri
        self.duration = duration
        self.wallClock = wallClock
        self.isDiscontinuity = isDiscontinuity
        self.isGap = isGap
        self.bytes = bytes
        self.checksum = checksum
        self.format = format
    }

    /// Whether all numbers are plausible; false means that the stored entry is damaged.
    public var isSound: Bool {
        // Sizes and durations are summed over playlists of any length.
        0...(1 << 53) ~= number && 0...(1 << 40) ~= bytes && 0...3_600_000_000 ~= duration
            && 0...(1 << 53) ~= wallClock
            && 0...16384 ~= format.width && 0...16384 ~= format.height && 0...1_000_000 ~= format.frameRate
    }

    /// The lines of a media playlist (RFC 8216 §4.3.2; `EXT-X-GAP`: draft-pantos-hls-rfc8216bis §4.4.4.7).
    package var text: String {
        var text = isDiscontinuity ? "#EXT-X-DISCONTINUITY\n" : ""
        text += "#EXT-X-PROGRAM-DATE-TIME:\(CalendarTime(milliseconds: wallClock))\n"
        if isGap { text += "#EXT-X-GAP\n" }
        let fraction = String(duration % 1_000_000)
        let zeroes = String(repeating: "0", count: 6 - fraction.count)
        text += "#EXTINF:\(duration / 1_000_000).\(zeroes)\(fraction),\n\(uri)\n"
        return text
    }
}
