/// Decoding times for pictures with presentation times only, as in RTP (RFC 6184 §5.1).
///
/// Pictures come in decoding order. Without B-frames both times are equal. A picture that is shown before one that was
/// decoded earlier reveals how far pictures are reordered; from then on decoding times are earlier by the largest such
/// distance. They grow by at least 1 ms, and delay no picture.
package struct DecodingTimes: Sendable {
    /// Largest supported reordering: four pictures at 5 pictures a second.
    package static let most = MediaTime.milliseconds(800)

    private var latest: MediaTime?
    private var reordering = MediaTime.zero
    private var last: MediaTime?

    package init() {}

    /// Returns the decoding time of the next picture.
    package mutating func next(pts: MediaTime) -> MediaTime {
        // A jump begins a new timeline.
        if let latest, latest - pts > DecodingTimes.most {
            (self.latest, last) = (nil, nil)
        }
        let highest = max(latest ?? pts, pts)
        latest = highest
        reordering = min(max(reordering, highest - pts), DecodingTimes.most)
        var time = min(pts, highest - reordering)
        if let last { time = max(time, last + .milliseconds(1)) }
        // A time beyond `pts`, forced by the growth, shows that more room is needed.
        if time > pts { reordering = min(reordering + (time - pts), DecodingTimes.most) }
        last = time
        return time
    }
}
