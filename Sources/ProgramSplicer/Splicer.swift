import EncodedMedia
import MediaFormats
import MixModel

/// Joins several feeds into one continuous program, and performs the switches between bypass and mix.
///
/// A pure state machine: frames, ends of feeds and the passing of time go in; actions come out, in the order in which
/// they must be performed. All times are program time. The rules:
///
/// - **Leaving a source** (bypass → mix) happens at a *closed boundary* `T`: everything forwarded so far is shown
///   before `T`, and everything that follows is shown at or after it, so no B-frame loses a reference. The source is
///   held back from `T` on, the mixer is asked for an IDR at `T`, and its frame at `T` takes over. If that frame is
///   late or not an IDR, the held frames are forwarded and the next boundary is tried. If the mixer is past `T`
///   already, the source continues until the IDR that the mixer makes instead. No frame is lost.
/// - **Entering a source** (mix → bypass) happens at its next IDR, `T`: its frames are held until the old feed has
///   delivered everything before `T`, then they follow at once. A mix shows a source on its own grid, up to an interval
///   and a half later than at the source's own times: `T` is where the mix would have shown the IDR.
/// - **Audio** changes at the AAC frame boundary nearest to `T` or soon after, in a lane of its own, `AudioLane`.
///
/// The old feed therefore stays on air until the new one is decodable: there is never a black or missing frame.
public struct Splicer: Sendable {
    /// An action that the splicer's owner has to perform.
    public enum Action: Hashable, Sendable {
        /// A sequence header that is due before the next frame of its track.
        case configure(CodecConfiguration)
        case emit(EncodedFrame)
        /// A request that the mixer of this generation make its frame at this time an IDR.
        case requestIDR(generation: Int, at: MediaTime)
        /// A shift of the source's timeline onto the program's frame grid; map the source accordingly from now on.
        case shift(SourceID, by: MediaTime)
        case switched(Splice)
    }

    /// The feed that viewers see; `nil` until the program has begun.
    public internal(set) var onAir: SpliceInput?
    /// The feed that viewers should see; `nil` keeps the one on air.
    public private(set) var target: SpliceInput?
    /// The tracks of the program.
    public internal(set) var tracks = SourceSelection.Tracks.all
    /// PTS of the last video frame of the program.
    public private(set) var lastVideo: MediaTime?
    /// Number of frames whose time had to be changed to stay in order; 0 in a healthy program.
    public private(set) var disorder = 0

    /// Longest time for which frames are held for a splice before it is given up (leaving) or forced (entering).
    static let patience = MediaTime.milliseconds(400)
    /// Largest lag of a mixer's newest frame with which the mixer is still asked to take over.
    static let readyLag = MediaTime.milliseconds(160)
    /// Largest error of timestamps that are rounded to milliseconds.
    static let noise = MediaTime(nanoseconds: 1_500_000)
    /// Smallest step in time, because RTMP counts in milliseconds.
    static let step = MediaTime.milliseconds(1)

    enum Pending {
        /// On-air frames from `at` on are held until the mixer's IDR at `at`.
        case leaving(at: MediaTime, held: [EncodedFrame], since: MediaTime)
        /// Frames of `feed` from its IDR at `at` on are held until the old feed has reached `at`.
        case entering(SpliceInput, at: MediaTime, held: [EncodedFrame], since: MediaTime)
    }

    var feeds = SpliceInputStates()
    /// Removed feeds that the program still needed when it was last advanced.
    private var removed: Set<SpliceInput> = []
    var pending: Pending?
    /// Program time from which pictures have been held for the next splice; `nil` while none are.
    private var heldSince: MediaTime?
    var audio = AudioLane()
    private var lastDecoding: MediaTime?
    /// Whether an IDR of the target arrived when the program had already passed its time.
    var hasMissedIDR = false
    var configured = PerTrack<CodecConfiguration>()
    /// The mixer that was asked for an IDR because the feed on air is gone.
    var askedForLost: SpliceInput?
    var unreported: (splice: Splice, since: MediaTime)?
    /// The way in which the feed on air was entered.
    private var entry = OpenGroupEntry()

    public init() {}

    // MARK: Input

    /// Sets the feed that viewers should see as soon as it can take over. Gives up a splice to another feed that is
    /// under way, and forwards the frames that were held to leave the feed on air.
    public mutating func setTarget(_ feed: SpliceInput?, now: MediaTime) -> [Action] {
        guard feed != target else { return [] }
        target = feed
        hasMissedIDR = false
        askedForLost = nil
        return abandonPending() + advanceSound(now: now)
    }

    /// Sets the configuration needed to decode the frames of `feed` that follow. Call before its first frame and after
    /// each change.
    ///
    /// - Returns: The end of a splice whose held pictures need the previous configuration.
    @discardableResult
    public mutating func configure(_ feed: SpliceInput, _ configuration: CodecConfiguration) -> [Action] {
        var actions: [Action] = []
        removed.remove(feed)
        switch configuration.track {
        case .video:
            if holds(feed), feeds[feed]?.video != configuration { actions = abandonPending() }
            feeds.update(feed) { $0.video = configuration }
        case .audio:
            if feeds[feed]?.audio != configuration { feeds[feed]?.forgetAudio() }
            feeds.update(feed) { $0.audio = configuration }
            if let format = AudioSpecificConfig(configuration.bytes) {
                let length = MediaTime.units(Int64(format.samplesPerFrame), rate: format.sampleRate)
                feeds.update(feed) { $0.audioFrame = length }
                audio.setFrameLength(length, of: feed)
            }
        }
        return actions
    }

    /// Sets the distance between two video frames of `feed`, as well as it is known.
    public mutating func setInterval(_ interval: MediaTime, of feed: SpliceInput) {
        feeds.update(feed) { $0.interval = interval }
    }

    /// Sets the time by which `mixer` shows each source's frames later than their own times, from its next frame on. A
    /// splice to one of these sources waits for the mixed frame that shows the preceding source frame, and continues
    /// with the next one.
    public mutating func setDelays(_ delays: [SourceID: MediaTime], in mixer: SpliceInput) {
        feeds.update(mixer) { $0.delays = delays }
    }

    /// Handles the next frame of `feed`, in decoding order and in program time.
    ///
    /// - Parameter now: Program time at which the frame arrived.
    public mutating func frame(_ frame: EncodedFrame, of feed: SpliceInput, now: MediaTime) -> [Action] {
        if !removed.isEmpty { removed.remove(feed) }
        switch frame.track {
        case .audio:
            feeds.update(feed) { state in
                state.isGone = false
                state.remember(audio: frame)
            }
            return Self.join(
                advanceSound(now: now), audioArrived(frame, of: feed, now: now), report(now: now))
        case .video where tracks == .audio:
            feeds.update(feed) { $0.isGone = false }
            return []
        case .video:
            feeds.update(feed) { state in
                state.isGone = false
                state.note(video: frame)
            }
            return Self.join(videoArrived(frame, of: feed, now: now), advanceAudio(now: now))
        }
    }

    /// Moves the held frames of `feed` by `amount`, because its source is now mapped to times that are later by that
    /// amount.
    public mutating func move(_ feed: SpliceInput, by amount: MediaTime) {
        let recent = feeds[feed]?.recentAudio ?? []
        feeds[feed]?.recentAudio = recent.map { $0.shifted(by: amount) }
        if case .entering(feed, let time, let held, let since) = pending {
            pending = .entering(feed, at: time + amount, held: held.map { $0.shifted(by: amount) }, since: since)
        }
    }

    /// Marks `feed` as delivering no more frames for now: it ended, was removed or stalled.
    public mutating func ended(_ feed: SpliceInput, now: MediaTime) -> [Action] {
        feeds[feed]?.isGone = true
        return advance(to: now)
    }

    /// Removes a feed that is not expected to return, once the program does not need it any more.
    public mutating func remove(_ feed: SpliceInput, now: MediaTime) -> [Action] {
        removed.insert(feed)
        return ended(feed, now: now)
    }

    /// Acts on deadlines that have passed. Call it every few tens of milliseconds.
    public mutating func advance(to now: MediaTime) -> [Action] {
        var actions: [Action] = []
        switch pending {
        case .leaving(_, _, let since) where now - since > Splicer.patience:
            actions += abandonPending()
        case .entering(_, _, _, let since) where now - since > Splicer.patience || isOnAirGone:
            actions += enter(now: now)
        default: break
        }
        actions += advanceSound(now: now) + advanceAudio(now: now) + report(now: now)
        for feed in removed where !needs(feed) {
            feeds[feed] = nil
            removed.remove(feed)
        }
        return actions
    }

    /// Returns whether the program uses the pictures or audio of `feed`, or is about to, so that the feed must keep
    /// delivering.
    public func needs(_ feed: SpliceInput) -> Bool { feed == onAir || feed == target || feed == audio.feed }

    /// The feed whose audio is on air.
    public var heard: SpliceInput? { audio.feed }

    /// Time of the program's next audio frame, and the length of a frame.
    public var audioGrid: (next: MediaTime, frame: MediaTime)? { audio.grid }

    /// The audio configuration that was last sent to viewers.
    public var audioConfiguration: CodecConfiguration? { configured[.audio] }

    // MARK: Video

    var isOnAirGone: Bool { onAir.flatMap { feeds[$0]?.isGone } ?? true }

    func interval(of feed: SpliceInput?) -> MediaTime {
        feed.flatMap { feeds[$0]?.interval } ?? .milliseconds(40)
    }

    func hasRate(of feed: SpliceInput?) -> Bool {
        (interval(of: feed) - interval(of: onAir)).magnitude < interval(of: onAir) / 20
    }

    private mutating func videoArrived(_ frame: EncodedFrame, of feed: SpliceInput, now: MediaTime) -> [Action] {
        if feed == onAir {
            return entry.admits(frame) && (lastVideo != nil || frame.isIDR) ? onAirVideo(frame, now: now) : []
        }
        guard feed == target else { return [] }
        switch pending {
        case .leaving(let boundary, let held, _):
            return takeOver(with: frame, of: feed, at: boundary, from: held, now: now)
        case .entering(feed, let time, var held, let since):
            held.append(frame)
            pending = .entering(feed, at: time, held: held, since: since)
            return enterIfReached(now: now)
        case .entering, nil:
            if let request = requestIfLost(after: frame, of: feed) { return [request] }
            guard frame.isIDR, !isTooLate(frame, of: feed) else { return [] }
            // A mixer takes over from an active source only at a boundary for which it was asked.
            if feed.isMixer, let onAir, !onAir.isMixer, !isOnAirGone, lastVideo != nil { return [] }
            heldSince = now
            pending = .entering(feed, at: frame.pts, held: [frame], since: now)
            return enterIfReached(now: now)
        }
    }

    /// Returns whether pictures of `feed` are held for a splice.
    private func holds(_ feed: SpliceInput) -> Bool {
        switch pending {
        case .leaving: feed == onAir
        case .entering(let next, _, _, _): feed == next
        case nil: false
        }
    }

    mutating func onAirVideo(_ frame: EncodedFrame, now: MediaTime) -> [Action] {
        switch pending {
        case .leaving(let boundary, var held, let since):
            held.append(frame)
            pending = .leaving(at: boundary, held: held, since: since)
            return now - since > Splicer.patience ? abandonPending() : []
        case .entering(_, let time, _, _):
            guard frame.pts < time + delay(of: target) - nearness(to: target) else { return enter(now: now) }
            return emit(video: frame) + enterIfReached(now: now)
        case nil:
            guard let generation = generationToLeaveTo(before: frame), let last = lastVideo else {
                return emit(video: frame)
            }
            let boundary = boundary(after: last, before: frame)
            heldSince = now
            pending = .leaving(at: boundary, held: [frame], since: now)
            return [.requestIDR(generation: generation, at: boundary)]
        }
    }

    mutating func begin(_ feed: SpliceInput, with frames: [EncodedFrame], now: MediaTime) -> [Action] {
        guard let first = frames.first else { return [] }
        let splice = Splice(
            from: onAir, to: feed, at: first.pts, performedAt: now, videoGap: lastVideo.map { first.pts - $0 },
            audioGap: nil, heldAt: heldSince)
        heldSince = nil
        var actions = report(now: now, force: true)
        onAir = feed
        unreported = (splice, now)
        audio.change(to: feed, at: first.pts, now: now)
        entry = OpenGroupEntry()
        actions += emit(video: entry.begin(with: first, of: feeds[feed]?.video.flatMap { VideoConfiguration($0) }))
        for frame in frames.dropFirst() where entry.admits(frame) { actions += emit(video: frame) }
        return actions + advanceAudio(now: now)
    }

    /// Forwards frames held while leaving; drops frames held for entering.
    mutating func abandonPending() -> [Action] {
        let abandoned = pending
        (pending, heldSince) = (nil, nil)
        guard case .leaving(_, let held, _) = abandoned else { return [] }
        return held.flatMap { emit(video: $0) }
    }

    private mutating func emit(video frame: EncodedFrame) -> [Action] {
        var frame = frame
        if let last = lastDecoding, frame.dts < last + Splicer.step {
            // An IDR after a mix: its source decodes ahead by the reorder depth. Decoding times advance in the smallest
            // steps that FLV's milliseconds can express until the source's own have caught up; no frame is decoded
            // after it is shown.
            if frame.pts <= last { disorder += 1 }
            frame.dts = last + Splicer.step
            frame.pts = max(frame.pts, frame.dts)
        }
        lastDecoding = frame.dts
        lastVideo = max(lastVideo ?? frame.pts, frame.pts)
        var actions = configureIfNeeded(onAir.flatMap { feeds[$0]?.video })
        actions.append(.emit(frame))
        return actions
    }

    /// Forgets the video sent so far, so that it starts over when it returns.
    mutating func forgetVideo() {
        lastVideo = nil
        lastDecoding = nil
        configured[.video] = nil
    }

    private mutating func configureIfNeeded(_ configuration: CodecConfiguration?) -> [Action] {
        guard let configuration, configured[configuration.track] != configuration else { return [] }
        configured[configuration.track] = configuration
        return [.configure(configuration)]
    }

    // MARK: Audio

    private mutating func audioArrived(_ frame: EncodedFrame, of feed: SpliceInput, now: MediaTime) -> [Action] {
        Self.join(emit(audio: audio.arrived(frame, of: feed)), advanceAudio(now: now))
    }

    mutating func emit(audio frames: [EncodedFrame]) -> [Action] {
        guard tracks != .video, !frames.isEmpty else { return [] }
        let configuration = audio.feed.flatMap { feeds[$0]?.audio }
        var actions: [Action] = []
        for frame in frames {
            actions += configureIfNeeded(configuration)
            actions.append(.emit(frame))
        }
        return actions
    }

    /// Reports a splice once its audio has followed, or after `patience` without it.
    mutating func report(now: MediaTime, force: Bool = false) -> [Action] {
        guard case (var splice, let since)? = unreported else { return [] }
        guard force || audio.lastChange?.feed == splice.to || now - since > Splicer.patience else { return [] }
        if audio.lastChange?.feed == splice.to { splice.audioGap = audio.lastChange?.gap }
        unreported = nil
        return [.switched(splice)]
    }
}
