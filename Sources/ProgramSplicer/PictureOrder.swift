import EncodedMedia

/// Keeps the pictures of a source in presentation order while its timeline moves. Pure.
///
/// A picture may be decoded before others that are shown before it (B-frames). If the timeline moves between the two,
/// they would swap places, or viewers would get a picture for a time that has already passed. Such a picture is shown
/// at the nearest time that keeps the order, in the smallest steps that FLV's millisecond timestamps can express, until
/// the timeline has caught up.
struct PictureOrder: Sendable {
    private struct Picture {
        /// Presentation time on the source's timeline.
        var own: MediaTime
        /// Presentation time on the program's timeline.
        var shown: MediaTime
    }

    /// Largest number of pictures that are decoded before a picture and shown after it (ITU-T H.264,
    /// `max_num_reorder_frames` in E.2.1).
    private static let deepest: Int64 = 16
    /// Number of pictures that are kept: twice `deepest`.
    static let memory = 32
    /// Longest time by which a picture is delayed. Times that are further apart do not belong to the order of one
    /// stream.
    static let longestDelay = MediaTime.seconds(1)
    /// Number of decoding steps from which the distance of pictures is determined.
    private static let stepMemory = 8

    /// The latest pictures, by their own times.
    private var recent: [Picture] = []
    /// Presentation time of the newest picture that is no longer in `recent`.
    private var floor: MediaTime?
    private var lastDecoding: MediaTime?
    /// Whether a picture has been decoded earlier than it is shown.
    private var hasReordered = false
    /// The latest distances of decoding times on the source's timeline, from 1 ms to 1 s.
    private var steps: [MediaTime] = []

    /// Number of pictures that are kept.
    var count: Int { recent.count }

    /// Assigns times that keep the order to a picture.
    ///
    /// - Parameters:
    ///   - frame: The picture in program time, by the current mapping of its source's timeline.
    ///   - pts: Presentation time that the source gave it.
    ///   - dts: Decoding time that the source gave it.
    mutating func place(_ frame: inout EncodedFrame, pts: MediaTime, dts: MediaTime) {
        guard hasReordered || pts != dts else {
            // Without reordering, decoding order is presentation order, and no change is needed.
            (floor, lastDecoding) = (frame.pts, dts)
            return
        }
        hasReordered = true
        noteDecoding(dts)
        frame.pts = time(of: frame, pts: pts, dts: dts)
        frame.dts = min(frame.dts, frame.pts)
        recent.insert(Picture(own: pts, shown: frame.pts), at: place(of: pts))
        if recent.count > Self.memory { raiseFloor(to: recent.removeFirst().shown) }
    }

    /// Moves the earlier pictures, because they are shown later by `amount`.
    mutating func shift(by amount: MediaTime) {
        for index in recent.indices { recent[index].shown += amount }
        floor = floor.map { $0 + amount }
    }

    /// Records the decoding time of the next picture. If it does not increase, the source has begun a new timeline, all
    /// of which is shown after the previous one.
    private mutating func noteDecoding(_ time: MediaTime) {
        defer { lastDecoding = time }
        guard let lastDecoding else { return }
        guard time > lastDecoding else {
            for picture in recent { raiseFloor(to: picture.shown) }
            recent.removeAll(keepingCapacity: true)
            return
        }
        guard MediaTime.milliseconds(1)...(.seconds(1)) ~= time - lastDecoding else { return }
        steps.append(time - lastDecoding)
        if steps.count > Self.stepMemory { steps.removeFirst() }
    }

    private mutating func raiseFloor(to time: MediaTime) { floor = max(floor ?? time, time) }

    /// Returns the number of pictures that the source shows no later than a time on its own timeline. Pictures with the
    /// same time are shown in decoding order.
    private func place(of time: MediaTime) -> Int { recent.firstIndex { $0.own > time } ?? recent.endIndex }

    private mutating func time(of frame: EncodedFrame, pts: MediaTime, dts: MediaTime) -> MediaTime {
        let place = place(of: pts)
        var lower = floor
        for picture in recent[..<place] { lower = max(lower ?? picture.shown, picture.shown) }
        guard let lower else { return frame.pts }
        // At most this number of pictures are still to come that are shown before this one and need a time.
        let toCome = min(distance(pts - dts), Self.deepest)
        let below = place > 0 ? min(distance(pts - recent[place - 1].own), toCome + 1) : toCome + 1
        let earliest = lower + Splicer.step * max(below, 1)
        guard earliest - frame.pts <= Self.longestDelay else {
            forget()
            return frame.pts
        }
        guard place < recent.endIndex else { return max(frame.pts, earliest) }
        var upper = recent[place].shown
        for picture in recent[place...] { upper = min(upper, picture.shown) }
        let above = min(distance(recent[place].own - pts), Self.deepest)
        let latest = upper - Splicer.step * max(above, 1)
        let time = min(max(frame.pts, earliest), latest)
        return time > lower ? time : lower + (upper - lower) / 2
    }

    private mutating func forget() {
        recent.removeAll(keepingCapacity: true)
        floor = nil
    }

    /// Returns the number of pictures within a duration on the source's timeline, estimated from its steps.
    private func distance(_ time: MediaTime) -> Int64 {
        guard let interval = steps.min() else { return Self.deepest }
        // Timestamps are rounded to milliseconds.
        return (time + interval / 4).nanoseconds / max(interval.nanoseconds, 1)
    }
}
