import EncodedMedia

/// The time at which a segment's video or audio begins, on the clock that all playlists of an HLS stream share (RFC
/// 8216 §3).
public enum SegmentStart {
    /// Period in ticks after which the clock wraps.
    public static let period: Int64 = 1 << 33
    /// Largest number of bytes of a segment that are examined.
    private static let most = 4 << 20
    private static let packet = 188
    /// The owner of the ID3 frame that contains the time of packed audio.
    private static let owner = Array("com.apple.streaming.transportStreamTimestamp\0".utf8)

    /// Returns the presentation time of a track's first frame in ticks of 90 kHz; `nil` if the segment carries none, as
    /// in fragments of MP4.
    public static func ticks(of track: Track, in bytes: [UInt8]) -> Int64? {
        let bytes = bytes.prefix(most)
        return bytes.starts(with: Array("ID3".utf8)) ? packed(bytes.prefix(4096)) : transported(track, bytes)
    }

    private static func packed(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard let end = bytes.firstRange(of: owner)?.upperBound, let time = bytes.bigEndian(UInt64.self, at: end) else {
            return nil
        }
        return Int64(time & UInt64(period - 1))
    }

    /// Returns the first timestamp of a packetized elementary stream of the track.
    private static func transported(_ track: Track, _ bytes: ArraySlice<UInt8>) -> Int64? {
        for start in stride(from: bytes.startIndex, through: bytes.endIndex - packet, by: packet) {
            guard bytes[start] == 0x47 else { return nil }
            // The first packet of a unit, with a payload.
            guard bytes[start + 1] & 0x40 != 0, bytes[start + 3] & 0x10 != 0 else { continue }
            let adaptation = bytes[start + 3] & 0x20 == 0 ? 0 : 1 + Int(bytes[start + 4])
            let unit = bytes[start..<start + packet].dropFirst(4 + adaptation)
            guard unit.count >= 14, unit.starts(with: [0, 0, 1]) else { continue }
            let first = unit.startIndex
            let isWanted =
                switch bytes[first + 3] {
                case 0xE0...0xEF: track == .video
                // 0xBD: non-MPEG audio.
                case 0xC0...0xDF, 0xBD: track == .audio
                default: false
                }
            guard isWanted, bytes[first + 7] & 0x80 != 0 else { continue }
            let digits = bytes[first + 9..<first + 14].map { Int64($0) }
            return (digits[0] >> 1 & 7) << 30 | digits[1] << 22 | (digits[2] >> 1) << 15 | digits[3] << 7 | digits[4]
                >> 1
        }
        return nil
    }
}
