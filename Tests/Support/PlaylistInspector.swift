import Foundation

/// Reads successive versions of a media playlist as a player does, and checks them against RFC 8216.
public struct PlaylistInspector {
    public struct Segment: Hashable {
        public var uri: String
        public var duration: Double
        public var isDiscontinuity: Bool
        public var isGap: Bool
        public var date: Date?
        public var number: Int
    }

    public struct Playlist: Hashable {
        public var targetDuration = 0
        public var mediaSequence = 0
        public var discontinuitySequence = 0
        public var kind: String?
        public var isIndependent = false
        public var isEnded = false
        public var segments: [Segment] = []
    }

    public private(set) var newest: Playlist?
    /// The violations found, in order.
    public private(set) var complaints: [String] = []
    /// Every segment of any version, by number.
    public private(set) var seen: [Int: Segment] = [:]
    public private(set) var versions = 0

    public init() {}

    /// Reads and checks the next version of the playlist.
    public mutating func take(_ text: String) {
        versions += 1
        let playlist = parse(text)
        let limit = playlist.targetDuration
        // §4.3.3.1
        for segment in playlist.segments where Int(segment.duration.rounded()) > limit {
            complain("\(segment.uri) lasts \(segment.duration) s, the target is \(limit) s")
        }
        if playlist.targetDuration < 1 { complain("no target duration") }
        for segment in playlist.segments {
            if let known = seen[segment.number], known != segment {
                complain("segment \(segment.number) is another one than before: \(known) \(segment)")
            }
            seen[segment.number] = segment
        }
        // §4.3.2.6: dates advance by the durations, except at a discontinuity.
        for (one, next) in zip(playlist.segments, playlist.segments.dropFirst()) where !next.isDiscontinuity {
            if let date = one.date, let following = next.date,
                abs(following.timeIntervalSince(date) - one.duration) > 0.1
            {
                complain("\(next.uri) is dated \(following.timeIntervalSince(date)) s after one of \(one.duration) s")
            }
        }
        if let last = newest { compare(playlist, with: last) }
        newest = playlist
    }

    /// Checks the changes from one version to the next (§6.2.1, §6.2.2).
    private mutating func compare(_ playlist: Playlist, with last: Playlist) {
        if playlist.targetDuration != last.targetDuration { complain("the target duration has changed") }
        if playlist.kind != last.kind { complain("the type has changed") }
        if last.isEnded, playlist != last { complain("it has changed after its end") }
        if playlist.mediaSequence < last.mediaSequence { complain("the media sequence went back") }
        let removed = last.segments.prefix { $0.number < playlist.mediaSequence }
        if playlist.mediaSequence > (last.segments.last?.number ?? 0) + 1 { complain("segments were never listed") }
        let gone = removed.count { $0.isDiscontinuity }
        if playlist.mediaSequence <= (last.segments.last?.number ?? 0) + 1,
            playlist.discontinuitySequence != last.discontinuitySequence + gone
        {
            complain(
                "the discontinuity sequence went from \(last.discontinuitySequence) to "
                    + "\(playlist.discontinuitySequence), and \(gone) discontinuities have left")
        }
        if !removed.isEmpty {
            let rest = playlist.segments.reduce(0) { $0 + $1.duration }
            if rest < Double(3 * playlist.targetDuration) - 0.001 {
                complain("segments were taken away, and only \(rest) s are left")
            }
        }
        if !Set(last.segments.dropFirst(removed.count)).isSubset(of: playlist.segments) {
            complain("a segment has left from the middle")
        }
    }

    private mutating func complain(_ text: String) { complaints.append("version \(versions): \(text)") }

    private mutating func parse(_ text: String) -> Playlist {
        var playlist = Playlist()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.first != "#EXTM3U" { complain("it does not begin with #EXTM3U") }
        if lines.last != "" { complain("its last line is not whole") }
        var segment = Segment(uri: "", duration: -1, isDiscontinuity: false, isGap: false, number: 0)
        func value(_ line: String, _ tag: String) -> String? {
            line.hasPrefix("#\(tag):") ? String(line.dropFirst(tag.count + 2)) : nil
        }
        let dates = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for line in lines {
            if let text = value(line, "EXT-X-TARGETDURATION") { playlist.targetDuration = Int(text) ?? -1 }
            if let text = value(line, "EXT-X-MEDIA-SEQUENCE") { playlist.mediaSequence = Int(text) ?? -1 }
            if let text = value(line, "EXT-X-DISCONTINUITY-SEQUENCE") {
                playlist.discontinuitySequence = Int(text) ?? -1
            }
            if let text = value(line, "EXT-X-PLAYLIST-TYPE") { playlist.kind = text }
            if line == "#EXT-X-INDEPENDENT-SEGMENTS" { playlist.isIndependent = true }
            if line == "#EXT-X-ENDLIST" { playlist.isEnded = true }
            if line == "#EXT-X-DISCONTINUITY" { segment.isDiscontinuity = true }
            if line == "#EXT-X-GAP" { segment.isGap = true }
            if let text = value(line, "EXT-X-PROGRAM-DATE-TIME") {
                segment.date = try? dates.parse(text)
                if segment.date == nil { complain("\(text) is no date") }
            }
            if let text = value(line, "EXTINF") { segment.duration = Double(text.dropLast()) ?? -1 }
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            if segment.duration < 0 { complain("\(line) has no duration") }
            segment.uri = line
            segment.number = playlist.mediaSequence + playlist.segments.count
            playlist.segments.append(segment)
            segment = Segment(uri: "", duration: -1, isDiscontinuity: false, isGap: false, number: 0)
        }
        return playlist
    }
}
