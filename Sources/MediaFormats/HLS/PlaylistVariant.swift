/// A rendition of a program: its playlist, its entry in a master playlist, and which of its files may be removed.
///
/// Codable, so that another process can continue where this one has ended.
public struct PlaylistVariant: Hashable, Codable, Sendable {
    /// A segment that has left the playlist and that players may still fetch.
    struct Retired: Hashable, Codable, Sendable {
        var uri: String
        /// Time until which the file is kept, in ms since 1970.
        var until: Int64
    }

    /// Part of file names, such as `video` or `360p`.
    public let name: String
    public private(set) var live: MediaPlaylist
    /// Playlist of every segment, if all are kept.
    public private(set) var complete: MediaPlaylist?
    private var retired: [Retired] = []
    /// Highest bit rate of segments of about a target duration (RFC 8216 §4.3.4.2), in bits per second.
    public private(set) var peakBandwidth = 0
    /// Duration of the longest playlist so far, in µs.
    private var longest: Int64 = 0

    public init(name: String, targetDuration: Int, keepsAll: Bool) {
        self.name = name
        live = MediaPlaylist(targetDuration: targetDuration)
        if keepsAll { complete = MediaPlaylist(targetDuration: targetDuration) }
    }

    // The complete list is kept elsewhere: it is long, and only grows.
    private enum CodingKeys: CodingKey { case name, live, retired, peakBandwidth, longest }

    /// Whether the stored state is undamaged.
    public var isSound: Bool {
        1...3600 ~= live.targetDuration && 0...(1 << 53) ~= peakBandwidth && 0...(1 << 53) ~= longest
            && 0...(1 << 53) ~= live.discontinuitySequence && live.entries.allSatisfy(\.isSound)
    }

    /// Restores the complete playlist of an earlier process.
    public mutating func restore(complete entries: [PlaylistEntry]) {
        var complete = MediaPlaylist(targetDuration: live.targetDuration)
        for entry in entries { complete.append(entry, isIndependent: live.isIndependent) }
        self.complete = complete
    }

    public var nextNumber: Int { (live.entries.last?.number ?? -1) + 1 }
    public var playlistName: String { "\(name).m3u8" }

    /// - Parameters:
    ///   - window: Seconds of media that stay in the playlist.
    ///   - now: Current time in ms since 1970.
    public mutating func append(_ entry: PlaylistEntry, isIndependent: Bool, window: Int, now: Int64) {
        live.append(entry, isIndependent: isIndependent)
        complete?.append(entry, isIndependent: isIndependent)
        longest = max(longest, live.duration)
        for removed in live.shorten(to: window) where complete == nil && !removed.isGap {
            // A player may still have the last playlist that named the segment (RFC 8216 §6.2.2).
            retired.append(Retired(uri: removed.uri, until: now + (removed.duration + longest) / 1000))
        }
        updatePeak()
    }

    /// Removes and returns the names of files that no player requests any more.
    public mutating func takeExpired(now: Int64) -> [String] {
        let expired = retired.prefix { $0.until <= now }.map(\.uri)
        retired.removeFirst(expired.count)
        return expired
    }

    /// Returns whether a file belongs to the variant. A process that was killed may have left other files.
    public func names(_ uri: String) -> Bool {
        complete != nil || live.entries.contains { $0.uri == uri } || retired.contains { $0.uri == uri }
    }

    public mutating func end() {
        live.isEnded = true
        complete?.isEnded = true
    }

    /// Average bit rate over the playlist, in bits per second.
    public var averageBandwidth: Int {
        let entries = live.entries.filter { !$0.isGap }
        return Self.rate(bytes: entries.reduce(0) { $0 + $1.bytes }, entries.reduce(0) { $0 + $1.duration })
    }

    /// The format that a player of this variant must support now.
    public var format: SegmentFormat {
        live.entries.filter { !$0.isGap }.reduce(SegmentFormat()) { $0.joined($1.format) }
    }

    /// Updates the peak from runs of 0.5 to 1.5 target durations that end with the newest segment.
    private mutating func updatePeak() {
        let target = Int64(live.targetDuration) * 1_000_000
        var (bytes, duration) = (0, Int64(0))
        for entry in live.entries.reversed() {
            bytes += entry.bytes
            duration += entry.duration
            guard duration * 2 <= target * 3 else { break }
            if duration * 2 >= target { peakBandwidth = max(peakBandwidth, Self.rate(bytes: bytes, duration)) }
        }
    }

    private static func rate(bytes: Int, _ duration: Int64) -> Int {
        duration > 0 ? Int(saturating: (Double(bytes) * 8e6 / Double(duration)).rounded(.up)).boundedCount : 0
    }
}
