import EncodedMedia

/// The audio part of a splice: the feed being heard, and the change to another feed at an AAC frame boundary.
///
/// Frames of the old feed go out while they begin before the boundary nearest to the video's splice. The new feed then
/// starts with the frame nearest to the end of the old one. If both feeds share one grid (the mixer's audio is on its
/// host's grid), the cadence continues without a step. If they do not (another participant takes over), the first frame
/// is placed exactly at the end of the last one, and the difference of at most half a frame is removed gradually: A/V
/// sync is exact again within about a second.
struct AudioLane: Sendable {
    /// The feed being heard; `nil` before the first one.
    private(set) var feed: SpliceInput?
    private(set) var lastChange: (feed: SpliceInput, gap: MediaTime?)?

    /// Longest wait for the old feed to reach the boundary, and for the new one to deliver from there.
    static let patience = MediaTime.milliseconds(400)

    private var next: (feed: SpliceInput, at: MediaTime, since: MediaTime)?
    /// Times of the last emitted frame.
    private var last: (pts: MediaTime, end: MediaTime)?
    private var frameLength = MediaTime.units(1024, rate: 48000)
    /// Offset added to the times of the feed being heard.
    private var correction = Easing()

    var grid: (next: MediaTime, frame: MediaTime)? { last.map { ($0.end, frameLength) } }

    /// Sets the length of the frames of `feed` that follow.
    mutating func setFrameLength(_ length: MediaTime, of feed: SpliceInput) {
        if feed == self.feed { frameLength = length }
    }

    /// Requests that `feed` be heard from `time` on.
    mutating func change(to feed: SpliceInput, at time: MediaTime, now: MediaTime) {
        lastChange = nil
        if feed == self.feed {
            // The other feed did not take over: continue with the frames that were dropped for it.
            next = next.flatMap { _ in last.map { (feed, $0.end, now) } }
            lastChange = (feed, nil)
        } else {
            next = (feed, time, now)
        }
    }

    /// Returns the arriving frame with its new time if it goes out at once; otherwise nothing.
    mutating func arrived(_ frame: EncodedFrame, of feed: SpliceInput) -> [EncodedFrame] {
        guard feed == self.feed else { return [] }
        if let next, frame.pts + correction.rest >= next.at - frameLength / 2 { return [] }
        return emit(frame).map { [$0] } ?? []
    }

    /// Returns the frames with which the next feed begins, or `nil` while it cannot begin yet.
    mutating func changeIfReached(feeds: SpliceInputStates, now: MediaTime) -> [EncodedFrame]? {
        guard let (feed, time, since) = next, let state = feeds[feed] else { return nil }
        let waited = now - since > AudioLane.patience
        let isOldGone = self.feed.map { feeds[$0].map(\.isGone) ?? true } ?? true
        let isReached = last.map { $0.end > time - frameLength / 2 } ?? true
        guard isReached || isOldGone || waited else { return nil }
        // The frame nearest to the end of the last one; at the start of the program, the first frame from `time` on.
        let from = last.map { $0.end - state.audioFrame / 2 } ?? time
        let frames = state.recentAudio.filter { $0.pts >= from }
        guard let first = frames.first else {
            guard waited else { return nil }
            // The feed has no audio, or none yet: any frame that arrives is heard.
            self.feed = feed
            next = nil
            correction = Easing()
            lastChange = (feed, nil)
            return []
        }
        let gap = last.map { max($0.end, first.pts) - $0.pts }
        let step = last.map { $0.end - first.pts } ?? .zero
        let joins = step.magnitude <= state.audioFrame / 2 + .milliseconds(1)
        correction = Easing(joins ? step : .zero)
        self.feed = feed
        frameLength = state.audioFrame
        next = nil
        lastChange = (feed, joins ? last.map { $0.end - $0.pts } : gap)
        return frames.compactMap { emit($0) }
    }

    /// Returns silent frames that follow the last one and end by `time`, at most `mostSilence` at a time. Frames of the
    /// feed that arrive later for the time of a silent one are dropped.
    ///
    /// - Parameter payload: A silent frame in the format of the feed being heard.
    mutating func fill(until time: MediaTime, with payload: [UInt8]) -> [EncodedFrame] {
        guard next == nil, frameLength > .zero else { return [] }
        var frames: [EncodedFrame] = []
        while let (_, end) = last, end + frameLength <= time, frames.count < AudioLane.mostSilence {
            frames.append(EncodedFrame(track: .audio, pts: end, dts: end, payload: payload))
            last = (end, end + frameLength)
        }
        return frames
    }

    /// Largest number of silent frames that go out at once: one second at the highest rate.
    static let mostSilence = 94

    private mutating func emit(_ frame: EncodedFrame) -> EncodedFrame? {
        if let last, frame.pts + correction.rest < last.pts + frameLength / 4 { return nil }
        let frame = correction.place(frame)
        last = (frame.pts, frame.pts + frameLength)
        return frame
    }
}
