import EncodedMedia
import MediaFormats
import MixModel

/// Splices of programs that have one track.
extension Splicer {
    /// Sets the tracks that the program has from now on. An audio-only program changes feed at any AAC frame boundary.
    /// A video-only program changes feed as usual, and audio is dropped.
    public mutating func setTracks(_ tracks: SourceSelection.Tracks, now: MediaTime) -> [Action] {
        guard tracks != self.tracks else { return [] }
        let actions = abandonPending()
        self.tracks = tracks
        switch tracks {
        case .all: break
        // A track that comes back begins with its header.
        case .audio: forgetVideo()
        case .video: configured[.audio] = nil
        }
        return actions + advanceSound(now: now)
    }

    /// Puts the target on air in an audio-only program, once the target has the frames that follow.
    mutating func advanceSound(now: MediaTime) -> [Action] {
        guard tracks == .audio, let target, target != onAir, let state = feeds[target], state.audio != nil,
            let newest = state.recentAudio.last
        else { return [] }
        let isGone = onAir.flatMap { feeds[$0]?.isGone } ?? true
        let next = audio.grid?.next
        if let next, !isGone, newest.pts < next - Splicer.readyLag { return [] }
        let at = next ?? newest.pts
        let splice = Splice(from: onAir, to: target, at: at, performedAt: now, videoGap: nil, audioGap: nil)
        let actions = report(now: now, force: true)
        onAir = target
        unreported = (splice, now)
        audio.change(to: target, at: at, now: now)
        return actions
    }
}

/// Changes of feed.
extension Splicer {
    /// Goes on to the next feed's audio, if a change is due and that feed has delivered it.
    mutating func advanceAudio(now: MediaTime) -> [Action] {
        guard audio.isChanging else { return [] }
        let postponed = emit(audio: audio.postponed(feeds: feeds, now: now))
        guard let frames = audio.changeIfReached(feeds: feeds, now: now) else { return postponed }
        return Self.join(postponed, emit(audio: frames), report(now: now))
    }
}

/// Filling of missing audio in a bypass.
extension Splicer {
    /// Fills the audio of the source on air with silence up to its last picture, because its audio has stalled.
    public mutating func fillSound(of feed: SpliceInput) -> [Action] {
        guard tracks == .all, pending == nil, feed == onAir, feed == audio.feed, !feed.isMixer, let lastVideo,
            let format = feeds[feed]?.audio.flatMap({ AudioSpecificConfig($0.bytes) }),
            let silence = SilentAAC.frame(of: format)
        else { return [] }
        return emit(audio: audio.fill(until: lastVideo, with: silence))
    }
}
