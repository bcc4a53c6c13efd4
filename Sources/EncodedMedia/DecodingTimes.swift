/// Decoding times for pictures that have presentation times only, as RTP carries them (RFC 6184 §5.1).
///
/// Pictures come in decoding order. Without B-frames both times are equal. A picture that is shown before one that was
/// decoded earlier tells how far pictures are reordered; from then on decoding times are earlier by the most of that.
/// They grow by 1 ms at least, and hold no picture back.
package struct DecodingTimes: Sendable {
    /// Largest reordering that is made room for: four pictures at 5 pictures a second.
    package static let most = MediaTime.milliseconds(800)

    private var latest: MediaTime?
    private var reordering = MediaTime.zero
    private var last: MediaTime?

    package init() {}

    /// Returns the decoding time of the next picture.
    package mutating func next(pts: MediaTime) -> MediaTime {
        // A jump is a new timeline.
        if let latest, latest - pts > DecodingTimes.most {
            (self.latest, last) = (nil, nil)
        }
        let highest = max(latest ?? pts, pts)
        latest = highest
        reordering = min(max(reordering, highest - pts), DecodingTimes.most)
        var time = min(pts, highest - reordering)
        if let last { time = max(time, last + .milliseconds(1)) }
        // What growing has cost is room, too.
        if time > pts { reordering = min(reordering + (time - pts), DecodingTimes.most) }
        last = time
        return time
    }
}
