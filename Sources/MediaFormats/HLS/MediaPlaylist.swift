/// The segments of one variant that players may fetch (RFC 8216 §4.3.3).
public struct MediaPlaylist: Hashable, Codable, Sendable {
    /// Value of `EXT-X-PLAYLIST-TYPE`.
    public enum Kind: String, Hashable, Codable, Sendable {
        case event = "EVENT"
        case onDemand = "VOD"
    }

    /// Target duration in seconds. Never changes.
    public let targetDuration: Int
    public private(set) var entries: [PlaylistEntry] = []
    public private(set) var discontinuitySequence = 0
    /// Whether every segment so far began with an IDR. Once it is false, it stays so.
    public private(set) var isIndependent = true
    public var isEnded = false

    public init(targetDuration: Int) { self.targetDuration = targetDuration }

    public mutating func append(_ entry: PlaylistEntry, isIndependent: Bool) {
        entries.append(entry)
        if !isIndependent { self.isIndependent = false }
    }

    /// Duration of all segments in µs.
    public var duration: Int64 { entries.reduce(0) { $0 + $1.duration } }

    /// Removes and returns the oldest segments, as long as `window` seconds and three target durations remain (RFC 8216
    /// §6.2.2).
    public mutating func shorten(to window: Int) -> [PlaylistEntry] {
        let least = Int64(max(window, 3 * targetDuration)) * 1_000_000
        var total = duration
        var removed: [PlaylistEntry] = []
        while let first = entries.first, total - first.duration >= least {
            total -= first.duration
            if first.isDiscontinuity { discontinuitySequence += 1 }
            removed.append(entries.removeFirst())
        }
        return removed
    }

    public func text(_ kind: Kind? = nil) -> String {
        header(kind) + entries.map(\.text).joined() + (isEnded ? Self.end : "")
    }

    /// Returns the lines that precede the segments.
    public func header(_ kind: Kind? = nil) -> String {
        var text = "#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:\(targetDuration)\n"
        text += "#EXT-X-MEDIA-SEQUENCE:\(entries.first?.number ?? 0)\n"
        text += "#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuitySequence)\n"
        if let kind { text += "#EXT-X-PLAYLIST-TYPE:\(kind.rawValue)\n" }
        if isIndependent { text += "#EXT-X-INDEPENDENT-SEGMENTS\n" }
        return text
    }

    package static let end = "#EXT-X-ENDLIST\n"
}
