import MixModel

/// From a source to the mixer.
extension Splicer {
    /// The time around which the mixer's IDR is wanted: half a mixer interval before it is the earliest.
    func boundary(after last: MediaTime, before frame: EncodedFrame) -> MediaTime {
        guard hasRate(of: target) else { return last + Splicer.noise + interval(of: target) / 2 }
        let reorders = onAir.flatMap { feeds[$0]?.reorders } ?? false
        return reorders ? last + interval(of: onAir) : frame.pts
    }

    /// The mixer that can take over from the source on air just before `frame`, if there is one.
    func generationToLeaveTo(before frame: EncodedFrame) -> Int? {
        guard case .mixer(let generation) = target, let onAir, !onAir.isMixer else { return nil }
        // In decoding order, a frame shown after everything before it: the boundary in front of it is closed.
        guard let last = lastVideo, frame.pts > last else { return nil }
        guard let mixer = feeds[.mixer(generation)], mixer.video != nil, let newest = mixer.newestVideo,
            !mixer.recentAudio.isEmpty || feeds[onAir]?.audio == nil
        else { return nil }
        return newest >= frame.dts - Splicer.readyLag ? generation : nil
    }

    /// The mixer delivered `frame` while the source is held at `boundary`.
    mutating func takeOver(
        with frame: EncodedFrame, of feed: Feed, at boundary: MediaTime, from held: [EncodedFrame], now: MediaTime
    ) -> [Action] {
        guard frame.pts >= boundary - interval(of: feed) / 2, lastVideo.map({ frame.pts > $0 }) ?? true else {
            return []
        }
        guard frame.isIDR else { return abandonPending() }
        let longest = max(interval(of: feed), interval(of: onAir)) * 5 / 4
        if let last = lastVideo, frame.pts > last + longest {
            return takeOverLater(with: frame, of: feed, from: held, now: now)
        }
        pending = nil
        return begin(feed, with: [frame], now: now)
    }

    /// The mixer was past the boundary when it was asked: one that shows nobody's pictures waits for nobody, and its host
    /// may be late. Its IDR is one of the next frames, and the source's own go out until then.
    private mutating func takeOverLater(
        with frame: EncodedFrame, of feed: Feed, from held: [EncodedFrame], now: MediaTime
    ) -> [Action] {
        // What is shown before it may be decoded after what is shown behind it: another boundary is tried.
        if onAir.flatMap({ feeds[$0]?.reorders }) ?? false { return abandonPending() }
        pending = .entering(feed, at: frame.pts, held: [frame], since: now)
        var actions: [Action] = []
        // Of those from the IDR on the mixer has its own.
        for frame in held where onAir != feed { actions += onAirVideo(frame, now: now) }
        return actions
    }
}
