import EncodedMedia
import LayoutEngine
import MixModel

/// A frame of the canvas that can be made now.
struct VideoJob: Sendable {
    var tick: Int64
    /// Program time.
    var time: MediaTime
    var composition: Composition
    var isIDR: Bool
    /// Delays with which sources are shown from this frame on; `nil` if unchanged.
    var delays: [SourceID: MediaTime]?
}

extension MixState {
    /// Adds a decoded picture.
    /// - Returns: Whether the tick thread must be woken.
    @discardableResult
    mutating func add(_ picture: SourcePicture, at time: MediaTime, of id: SourceID, now: MediaTime) -> Bool {
        guard var source = sources.removeValue(forKey: id) else { return false }
        let isFirst = source.lastPicture == nil
        source.sampler.append(time)
        source.decoding.noteDelivered(time)
        source.alignSound()
        source.pictures[time] = picture
        source.dropPictures()
        source.lastPicture = now
        source.isStalled = false
        sources[id] = source
        return wakes(pictureOf: id, isFirst: isFirst)
    }

    /// Returns the next frame of the canvas, if it can be made. It then counts as made, so call it once.
    ///
    /// - Parameter epoch: Seconds since 1970 at program time 0, for clocks.
    mutating func nextVideo(now: MediaTime, epoch: Double) -> Step<VideoJob> {
        guard let started else { return .wait(until: nil) }
        let tick = nextDrawnTick
        let time = time(ofTick: tick)
        if let picturesUntil, time > picturesUntil { return .wait(until: nil) }
        let clock = Int((epoch + time.inSeconds).rounded(.down))
        applyWantedScene(at: time, tick: tick, now: now, clock: clock)
        guard let player else { return .wait(until: nil) }
        if tick > 0, now - time > Patience.hopeless {
            skip(to: now)
            return nextVideo(now: now, epoch: epoch)
        }
        let deadline = max(time + Patience.normal, started + Patience.start)
        var awaited = AwaitedFrame(time: time)
        if tick == 0, isAwaitingGraphics(of: player.scene, now: now, clock: clock, waitingSince: started) {
            awaited.floor = started + Patience.scene
        }
        let scene = player.picture(at: tick)
        for pane in scene.panes where pane.isLive {
            let id = SourceID(pane.source)
            guard let source = sources[id], let fed = source.fedVideo, !source.hasEnded else {
                // The first frame on air should already show every source.
                if tick == 0, sources[id]?.fedSound == nil {
                    awaited.floor = max(awaited.floor, started + Patience.firstFrame)
                }
                continue
            }
            switch source.sampler.choice(tick: time) {
            case .frame:
                // Files are always ahead, and would pull the mix ahead with them.
                awaited.isLive = awaited.isLive || id != .idle
            case .pending(nil):
                // The first picture is in the decoder. An empty pane on air for one frame would be seen as a flash.
                awaited.sources[id] = tick == 0 ? started + Patience.start : fed + Patience.scene
            case .pending where id != setup.host && source.missed >= Patience.mostMissed:
                awaited.sources[id] = time + Patience.brief
            case .pending:
                let silent = (source.lastPicture ?? now) + Patience.silence
                let isComing = source.decoding.contains { source.sampler.isAwaited($0, tick: time) }
                guard isComing || !source.stalled.contains(.video) else { break }
                let latest = isComing ? max(deadline, time + Patience.decoding) : deadline
                let drained = (source.lastPicture ?? now) + Patience.drained
                awaited.sources[id] = source.stalled.contains(.video) ? min(latest, drained) : min(latest, silent)
            }
        }
        guard awaited.due <= now else {
            awaitedPicture = awaited
            return .wait(until: awaited.due)
        }
        return .make(commit(tick: tick, time: time, scene: scene, now: now, clock: clock))
    }

    /// The next frame of the canvas that is rendered: one on the divided grid, or one that was requested as an IDR.
    private var nextDrawnTick: Int64 {
        guard frameDivisor > 1, nextTick > 0 else { return nextTick }
        let divisor = Int64(frameDivisor)
        let onGrid = (nextTick + divisor - 1) / divisor * divisor
        return min(onGrid, idrTicks.filter { $0 >= nextTick }.min() ?? onGrid)
    }

    /// Returns whether the mix requests a keyframe at this tick. Requests keep the keyframes' distance in time when
    /// frames are skipped, because the encoder counts frames.
    private func isKeyTick(_ tick: Int64) -> Bool {
        let distance = Int64(setup.keyframeDistance)
        return frameDivisor > 1 && (lastDrawnTick ?? tick) / distance != tick / distance
    }

    /// Skips frames instead of falling further behind on a machine that is too slow.
    private mutating func skip(to now: MediaTime) {
        while time(ofTick: nextTick) < now - Patience.normal { nextTick += 1 }
        // The next frame answers all requests for skipped ones.
        let asked = idrTicks.filter { $0 < nextTick }
        guard !asked.isEmpty else { return }
        idrTicks.subtract(asked)
        idrTicks.insert(nextTick)
    }

    private mutating func commit(
        tick: Int64, time: MediaTime, scene: Scene, now: MediaTime, clock: Int
    ) -> VideoJob {
        var chosen: [SourceID: SourcePicture] = [:]
        for id in Array(sources.keys) {
            guard var source = sources.removeValue(forKey: id) else { continue }
            let pts: MediaTime?
            switch source.sampler.choice(tick: time) {
            case .frame(let time): (pts, source.missed) = (time, 0)
            case .pending(let newest): (pts, source.missed) = (newest, min(source.missed + 1, Patience.mostMissed))
            }
            source.sampler.commit(tick: time, shown: pts)
            chosen[id] = pts.flatMap { source.pictures[$0] }
            source.dropPictures()
            if let last = source.lastPicture, now - last > cardAfter(id) { source.isStalled = true }
            sources[id] = source
        }
        if let host = setup.host, let sampler = sources[host]?.sampler, sampler.lock == 1 {
            sources[host]?.sampler.noteGridMoved(by: videoGrid.follow(sampler.wander))
        }
        let isIDR = idrTicks.remove(tick) != nil || isKeyTick(tick)
        lastDrawnTick = tick
        nextTick = tick + 1
        let composition = compose(scene, tick: tick, chosen: chosen, now: now, clock: clock)
        forgetEnded(shown: scene)
        player?.settle(at: nextTick)
        if nextTick % 64 == 0 { shelf.sweep(unusedSince: tick) }
        return VideoJob(tick: tick, time: time, composition: composition, isIDR: isIDR, delays: newDelays())
    }

    private func max(_ left: MediaTime?, _ right: MediaTime) -> MediaTime {
        left.map { $0 > right ? $0 : right } ?? right
    }
    private func max(_ left: MediaTime, _ right: MediaTime) -> MediaTime { left > right ? left : right }
}

extension MixSource {
    fileprivate mutating func dropPictures() {
        for time in pictures.keys where !sampler.isNeeded(time) { pictures[time] = nil }
    }
}
