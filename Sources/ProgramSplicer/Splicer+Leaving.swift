import EncodedMedia

/// Splices from a source to the mixer.
extension Splicer {
    /// Returns the time around which the mixer's IDR is wanted; it may come up to half a mixer interval earlier.
    func boundary(after last: MediaTime, before frame: EncodedFrame) -> MediaTime {
        guard hasRate(of: target) else { return last + Splicer.noise + interval(of: target) / 2 }
        let reorders = onAir.flatMap { feeds[$0]?.reorders } ?? false
        return reorders ? last + interval(of: onAir) : frame.pts
    }

    /// Returns the generation of the mixer that can take over from the source on air just before `frame`, if there is
    /// one.
    func generationToLeaveTo(before frame: EncodedFrame) -> Int? {
        guard case .mixer(let generation) = target, let onAir, !onAir.isMixer else { return nil }
        // The frame is shown after every frame decoded before it: the boundary in front of it is closed.
        guard let last = lastVideo, frame.pts > last else { return nil }
        guard let mixer = feeds[.mixer(generation)], mixer.video != nil, let newest = mixer.newestVideo,
            !mixer.recentAudio.isEmpty || feeds[onAir]?.audio == nil
        else { return nil }
        return newest >= frame.dts - Splicer.readyLag ? generation : nil
    }

    /// Returns the request for an IDR if the feed on air is gone and a mixer that already runs has to take over. Once only.
    mutating func requestIfLost(after frame: EncodedFrame, of feed: SpliceInput) -> Action? {
        guard case .mixer(let generation) = feed, !frame.isIDR, onAir != nil, isOnAirGone, askedForLost != feed else {
            return nil
        }
        askedForLost = feed
        return .requestIDR(generation: generation, at: frame.pts + interval(of: feed))
    }

    /// Asks the target mixer for an IDR right after the last frame on air, because the mixer on air has failed. A mixer
    /// that is past that time makes its next frame an IDR.
    public mutating func askTarget() -> [Action] {
        guard let target, case .mixer(let generation) = target, target != onAir, let lastVideo else { return [] }
        askedForLost = target
        return [.requestIDR(generation: generation, at: lastVideo + interval(of: target))]
    }

    /// Handles a frame that the mixer delivered while the source is held at `boundary`.
    mutating func takeOver(
        with frame: EncodedFrame, of feed: SpliceInput, at boundary: MediaTime, from held: [EncodedFrame],
        now: MediaTime
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

    /// Takes over at a later IDR, because the mixer was past the boundary when it was asked.
    ///
    /// A mixer without participants' pictures waits for none, and its host may be late. Its IDR is one of its next
    /// frames; the source's own frames go out until then.
    private mutating func takeOverLater(
        with frame: EncodedFrame, of feed: SpliceInput, from held: [EncodedFrame], now: MediaTime
    ) -> [Action] {
        // Frames shown before the IDR may be decoded after frames shown after it: another boundary is tried.
        if onAir.flatMap({ feeds[$0]?.reorders }) ?? false { return abandonPending() }
        pending = .entering(feed, at: frame.pts, held: [frame], since: now)
        var actions: [Action] = []
        // From the IDR on, the mixer has frames of its own.
        for frame in held where onAir != feed { actions += onAirVideo(frame, now: now) }
        return actions
    }
}
