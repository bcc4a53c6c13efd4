import EncodedMedia
import MediaFormats

/// The audio part of a splice: the feed being heard, and the change to another feed at an AAC frame boundary.
///
/// Frames of the old feed go out while they begin before the boundary nearest to the video's splice. The new feed then
/// starts with the frame nearest to the end of the old one. If both feeds share one grid (the mixer's audio is on its
/// host's grid), the cadence continues without a step. If they do not (another participant takes over), the first frame
/// is placed exactly at the end of the last one, and the difference of at most half a frame is removed gradually: A/V
/// sync is exact again within about a second.
///
/// If either feed is a mixer, the old one is heard for up to `postponement` longer where the window of its last AAC frame
/// and that of the new feed's next one do not join: their aliasing would remain, which is a click.
struct AudioLane: Sendable {
    /// The feed being heard; `nil` before the first one.
    private(set) var feed: SpliceInput?
    private(set) var lastChange: (feed: SpliceInput, gap: MediaTime?)?

    /// Longest wait for the old feed to reach the boundary, and for the new one to deliver from there.
    static let patience = MediaTime.milliseconds(400)

    /// Longest time after the boundary for which the old feed is heard: three frames at 48 kHz, which is as long as an
    /// encoder needs to get back to long windows after an attack.
    static let postponement = MediaTime.milliseconds(75)

    private var next: (feed: SpliceInput, at: MediaTime, since: MediaTime, postponed: MediaTime)?
    /// Times and data of the last emitted frame.
    private var last: (pts: MediaTime, end: MediaTime, payload: [UInt8])?
    private var frameLength = MediaTime.units(1024, rate: 48000)
    /// Offset added to the times of the feed being heard.
    private var correction = Easing()

    /// Whether the feed is about to change, or to be heard again.
    var isChanging: Bool { next != nil }

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
            next = next.flatMap { _ in last.map { (feed, $0.end, now, MediaTime.zero) } }
            lastChange = (feed, nil)
        } else {
            next = (feed, time, now, .zero)
        }
    }

    /// Returns the arriving frame with its new time if it goes out at once; otherwise nothing.
    mutating func arrived(_ frame: EncodedFrame, of feed: SpliceInput) -> [EncodedFrame] {
        guard feed == self.feed else { return [] }
        if let next, frame.pts + correction.rest >= next.at - frameLength / 2 { return [] }
        return emit(frame).map { [$0] } ?? []
    }

    /// Returns the frames of the old feed that are heard beyond the boundary, because the next feed does not join there
    /// and may join later. Only frames that have arrived: nothing waits for it. Call it before `changeIfReached`.
    mutating func postponed(feeds: SpliceInputStates, now: MediaTime) -> [EncodedFrame] {
        var frames: [EncodedFrame] = []
        while let frame = nextPostponed(feeds: feeds), let emitted = emit(frame) {
            next?.at += frameLength
            next?.postponed += frameLength
            // The new feed has just delivered: its following frame has its own `patience`.
            next?.since = now
            frames.append(emitted)
        }
        return frames
    }

    private func nextPostponed(feeds: SpliceInputStates) -> EncodedFrame? {
        guard let next, let last, let feed, next.feed != feed, next.feed.isMixer || feed.isMixer,
            next.postponed + frameLength <= AudioLane.postponement, last.end > next.at - frameLength / 2,
            let old = feeds[feed], !old.isGone, let new = feeds[next.feed], new.audioFrame == frameLength
        else { return nil }
        let range = last.end - frameLength / 2..<last.end + frameLength / 2
        guard let first = new.recentAudio.first(where: { $0.pts >= range.lowerBound }), range.contains(first.pts),
            let before = AACWindow(last.payload), let after = AACWindow(first.payload), !before.joins(after)
        else { return nil }
        return old.recentAudio.first { range.contains($0.pts + correction.rest) }
    }

    /// Returns the frames with which the next feed begins, or `nil` while it cannot begin yet.
    mutating func changeIfReached(feeds: SpliceInputStates, now: MediaTime) -> [EncodedFrame]? {
        guard let (feed, time, since, _) = next, let state = feeds[feed] else { return nil }
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
        while let end = last?.end, end + frameLength <= time, frames.count < AudioLane.mostSilence {
            frames.append(EncodedFrame(track: .audio, pts: end, dts: end, payload: payload))
            last = (end, end + frameLength, payload)
        }
        return frames
    }

    /// Largest number of silent frames that go out at once: one second at the highest rate.
    static let mostSilence = 94

    private mutating func emit(_ frame: EncodedFrame) -> EncodedFrame? {
        if let last, frame.pts + correction.rest < last.pts + frameLength / 4 { return nil }
        let frame = correction.place(frame)
        last = (frame.pts, frame.pts + frameLength, frame.payload)
        return frame
    }
}
