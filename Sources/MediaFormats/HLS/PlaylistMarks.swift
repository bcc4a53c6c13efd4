/// Marks that are added to the playlists of a session after they were written: texts for players, and pauses, whose
/// segments are omitted from complete playlists. Pure.
public struct PlaylistMarks: Hashable, Codable, Sendable {
    /// A span of time in ms since 1970; it has no end while it lasts.
    public struct Pause: Hashable, Codable, Sendable {
        public var start: Int64
        public var end: Int64?
    }

    /// Texts, in the order in which they were added.
    public private(set) var ranges: [DateRange] = []
    public private(set) var pauses: [Pause] = []

    /// Largest number of texts; the oldest is dropped first.
    public static let mostRanges = 256
    /// Largest number of pauses. Further pauses are refused.
    public static let mostPauses = 256

    public init() {}

    public var isEmpty: Bool { ranges.isEmpty && pauses.isEmpty }
    public var isPaused: Bool { pauses.last.map { $0.end == nil } ?? false }

    public mutating func add(_ range: DateRange) {
        ranges.append(range)
        if ranges.count > Self.mostRanges { ranges.removeFirst(ranges.count - Self.mostRanges) }
    }

    /// Begins a pause: segments that begin from now on are omitted. Does nothing during a pause.
    ///
    /// - Returns: False if there are too many.
    @discardableResult public mutating func pause(at time: Int64) -> Bool {
        guard !isPaused else { return true }
        guard pauses.count < Self.mostPauses else { return false }
        pauses.append(Pause(start: time))
        return true
    }

    public mutating func resume(at time: Int64) {
        guard isPaused else { return }
        pauses[pauses.count - 1].end = max(time, pauses[pauses.count - 1].start)
    }

    private func isPaused(at time: String) -> Bool {
        pauses.contains { pause in
            time >= Self.text(pause.start) && (pause.end.map { time < Self.text($0) } ?? true)
        }
    }

    // Times of fixed width, as written by `PlaylistEntry`, sort like their texts.
    private static func text(_ time: Int64) -> String { "\(CalendarTime(milliseconds: time))" }

    // MARK: Playlists

    private struct Segment {
        var start: String
        var lines: [Substring]
    }

    /// Returns a media playlist written by `MediaPlaylist`, with the marks. Any other text is returned as it is.
    ///
    /// - Parameter isComplete: Whether it is a complete playlist, from which pauses are omitted.
    public func applied(to playlist: String, isComplete: Bool) -> String {
        guard !isEmpty, let parts = Self.parts(of: playlist) else { return playlist }
        let (header, footer) = (parts.header, parts.footer)
        var segments = parts.segments
        if isComplete, !pauses.isEmpty { leaveOutPauses(&segments) }
        if let first = segments.first {
            for range in ranges where Self.text(range.end) > first.start {
                let start = Self.text(range.start)
                guard !isComplete || !isPaused(at: start) else { continue }
                // The last segment that does not begin later. The position has no meaning for players (RFC 8216
                // §4.3.2.7).
                let index = segments.lastIndex { $0.start <= start } ?? 0
                segments[index].lines.insert(Substring(range.text.dropLast()), at: 0)
            }
        }
        return (header + segments.flatMap(\.lines) + footer).map { $0 + "\n" }.joined()
    }

    private func leaveOutPauses(_ segments: inout [Segment]) {
        var kept: [Segment] = []
        var isBroken = false
        for var segment in segments {
            guard !isPaused(at: segment.start) else {
                isBroken = !kept.isEmpty
                continue
            }
            if isBroken, segment.lines.first != Self.discontinuity { segment.lines.insert(Self.discontinuity, at: 0) }
            isBroken = false
            kept.append(segment)
        }
        segments = kept
    }

    private static let discontinuity: Substring = "#EXT-X-DISCONTINUITY"
    private static let date = "#EXT-X-PROGRAM-DATE-TIME:"

    /// Divides a playlist into the lines before, of and after its segments; `nil` if it has no segments.
    private static func parts(of playlist: String) -> (header: [Substring], segments: [Segment], footer: [Substring])? {
        var header: [Substring] = []
        var segments: [Segment] = []
        var open: [Substring] = []
        var start: String?
        for line in playlist.split(separator: "\n") {
            if line.hasPrefix(date) { start = String(line.dropFirst(date.count)) }
            if open.isEmpty, line != discontinuity, !line.hasPrefix(date) {
                if segments.isEmpty { header.append(line) } else { open.append(line) }
            } else {
                open.append(line)
            }
            if !line.hasPrefix("#"), let begun = start {
                segments.append(Segment(start: begun, lines: open))
                (open, start) = ([], nil)
            }
        }
        return segments.isEmpty ? nil : (header, segments, open)
    }
}
