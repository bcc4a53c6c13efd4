import EncodedMedia

/// Times of pictures that come with presentation times only, as in RTP (RFC 6184 §5.1). Receivers give each of its packets
/// the arrival as decoding time.
///
/// Where the SPS rules reordering out, both times are equal and each is at least 1 ms after the previous one: a jitter
/// buffer gives several pictures the same time, or one an earlier time, while it finds out by how much the network's delay
/// has changed. Otherwise `DecodingTimes` makes the decoding times.
package struct PictureTimes: Sendable {
    private var decoding = DecodingTimes()
    private var reorders = true
    private var last: MediaTime?

    package init() {}

    /// Notes the configuration of the pictures that follow.
    package mutating func begin(_ configuration: CodecConfiguration) {
        reorders = VideoConfiguration(configuration)?.sequenceParameters?.reorderDepth != 0
    }

    /// Returns the times of the next picture in decoding order. A step back of more than `DecodingTimes.most` begins a
    /// new timeline.
    package mutating func next(pts: MediaTime) -> (pts: MediaTime, dts: MediaTime) {
        guard !reorders else {
            let dts = decoding.next(pts: pts)
            return (max(pts, dts), dts)
        }
        var pts = pts
        if let last, pts <= last, last - pts <= DecodingTimes.most { pts = last + .milliseconds(1) }
        last = pts
        return (pts, pts)
    }
}
