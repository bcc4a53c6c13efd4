import EncodedMedia
import MediaFormats
import MixModel
import ProgramSplicer

/// The slate that is repeated without a mixer.
extension Relay {
    /// Whether the slate is repeated without a mixer.
    var isSlateRepeated: Bool { slate.group != nil && splicer.onAir == slate.feed }

    /// Handles a frame of a mixer.
    /// - Returns: Whether the repeated slate begins instead of the frame. The mixer has then been ended.
    func repeatSlate(from frame: EncodedFrame, of slot: MixerSlot, now: MediaTime) -> Bool {
        guard splicer.onAir == slot.feed, mixer?.generation == slot.generation else { return false }
        let format = splicer.audioConfiguration.flatMap { AudioSpecificConfig($0.bytes) }
        let hasSound = plan?.tracks != .video
        let silence = hasSound ? format.flatMap(SilentAAC.frame) : nil
        slate.note(silence == nil && hasSound ? nil : stillSlate(of: slot), now: now)
        guard slate.take(frame, of: slot.feed, silence: silence, now: now) else { return false }
        logger.info("the slate is repeated without mixer \(slot.generation)")
        slot.process.stop()
        mixer = nil
        sendSlate(now: now)
        return true
    }

    /// Returns the content of a mixer that shows a static slate; otherwise `nil`.
    private func stillSlate(of slot: MixerSlot) -> RepeatedSlate.Content? {
        guard let plan, plan.mode == .slate, plan.tracks != .audio, outgoingMixer == nil, slot.frameDivisor == 1,
            splicer.target == slot.feed, slot.scene == plan.scene, plan.scene.isStill
        else { return nil }
        return RepeatedSlate.Content(scene: plan.scene, tracks: plan.tracks, encoding: plan.encoding)
    }

    /// Sends the due frames of the repeated slate, and drops it once another feed is on air.
    func sendSlate(now: MediaTime) {
        guard let feed = slate.feed else { return }
        guard splicer.onAir == feed else {
            slate.finish()
            return perform(splicer.remove(feed, now: now))
        }
        giveTakeoverTime(now: now)
        for frame in slate.frames(until: now, sound: splicer.audioGrid) where splicer.onAir == feed {
            perform(splicer.frame(frame, of: feed, now: now))
        }
    }

    /// Continues the slate if the mixer that should take over is late, and gives it a later time.
    private func giveTakeoverTime(now: MediaTime) {
        guard let end = slate.group?.end, now - end > RepeatedSlate.patience else { return }
        let next = takeoverTime(fps: mixer?.setup?.canvas.fps ?? 20, now: now)
        slate.end(at: mixer == nil ? nil : next)
        mixer?.process.send(.requestIDR(next))
    }

    /// Returns the time, on the grid of the program's pictures, at which a mixer can take over from the repeated slate.
    func takeoverTime(fps: Int, now: MediaTime) -> MediaTime {
        let last = splicer.lastVideo ?? now
        let frames = max(now + RepeatedSlate.takeover - last, .zero).units(rate: fps) + 1
        return last + .units(frames, rate: fps)
    }

    /// Returns the decision for a program whose slate is repeated: no mixer is needed while the slate stays, or while
    /// the next source is about to take over.
    func sparingMixer(
        _ decision: ProgramDirector.Decision, plan: ProgramPlan, now: MediaTime
    ) -> ProgramDirector.Decision {
        guard isSlateRepeated else { return decision }
        var spared = decision
        spared.mixer = .none
        switch (plan.mode, decision.aim) {
        case (.slate, _):
            let content = RepeatedSlate.Content(scene: plan.scene, tracks: plan.tracks, encoding: plan.encoding)
            return content == slate.content ? spared : decision
        case (.bypass, .source): return spared
        case (.bypass, _): return now - planAppliedAt < ProgramDirector.panePatience ? spared : decision
        case (.mix, _): return decision
        }
    }
}
