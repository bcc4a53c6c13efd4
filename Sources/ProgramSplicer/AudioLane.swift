import MixModel

/// The audio half of a splice: which feed is heard, and the change to another at an AAC frame boundary.
///
/// Frames of the old feed go out while they begin before the boundary nearest to the video's splice; the new feed
/// follows with the frame nearest to where the old one ended. Where both lie on one grid (the mixer's audio is laid
/// on its host's) the cadence goes on without a step. Where they do not (another person takes over), the first frame
/// is put exactly at the end of the last, and the difference, at most half a frame, is eased: A/V is exact again within
/// about a second.
struct AudioLane: Sendable {
    /// What is heard.
    private(set) var feed: Feed?
    private(set) var lastChange: (feed: Feed, gap: MediaTime?)?

    /// How long the old feed may take to reach the boundary, and the new one to deliver from it on.
    static let patience = MediaTime.milliseconds(400)

    private var next: (feed: Feed, at: MediaTime, since: MediaTime)?
    /// Of the last frame emitted.
    private var last: (pts: MediaTime, end: MediaTime)?
    private var frameLength = MediaTime.units(1024, rate: 48000)
    /// Added to the times of the feed that is heard.
    private var correction = Easing()

    var grid: (next: MediaTime, frame: MediaTime)? { last.map { ($0.end, frameLength) } }

    /// `feed` shall be heard from `time` on.
    mutating func change(to feed: Feed, at time: MediaTime, now: MediaTime) {
        lastChange = nil
        if feed == self.feed {
            // What was left out for the other one, which never came, follows.
            next = next.flatMap { _ in last.map { (feed, $0.end, now) } }
            lastChange = (feed, nil)
        } else {
            next = (feed, time, now)
        }
    }

    /// What of an arriving frame goes out at once.
    mutating func arrived(_ frame: EncodedFrame, of feed: Feed) -> [EncodedFrame] {
        guard feed == self.feed else { return [] }
        if let next, frame.pts + correction.rest >= next.at - frameLength / 2 { return [] }
        return emit(frame).map { [$0] } ?? []
    }

    /// The frames with which the next feed begins, as soon as it can.
    mutating func changeIfReached(feeds: [Feed: FeedState], now: MediaTime) -> [EncodedFrame]? {
        guard let (feed, time, since) = next, let state = feeds[feed] else { return nil }
        let waited = now - since > AudioLane.patience
        let isOldGone = self.feed.map { feeds[$0].map(\.isGone) ?? true } ?? true
        let isReached = last.map { $0.end > time - frameLength / 2 } ?? true
        guard isReached || isOldGone || waited else { return nil }
        // The frame nearest to the end of the last one; nothing is heard before the program begins.
        let from = last.map { $0.end - state.audioFrame / 2 } ?? time
        let frames = state.recentAudio.filter { $0.pts >= from }
        guard let first = frames.first else {
            guard waited else { return nil }
            // It has no sound, or none yet: whatever comes is heard.
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

    private mutating func emit(_ frame: EncodedFrame) -> EncodedFrame? {
        if let last, frame.pts + correction.rest < last.pts + frameLength / 4 { return nil }
        let frame = correction.place(frame)
        last = (frame.pts, frame.pts + frameLength)
        return frame
    }
}
