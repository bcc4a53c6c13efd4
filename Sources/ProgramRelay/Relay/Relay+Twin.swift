import EncodedMedia
import MixModel
import ProgramSplicer

/// A second mixer that renders the mix on air, so that viewers lose at most a picture when the first one fails.
extension Relay {
    /// Starts or ends the twin, and makes it render the same as the mixer on air.
    func keepTwin(_ plan: ProgramPlan, now: MediaTime) {
        guard let mixer, isTwinWanted(plan, beside: mixer) else { return endTwin(now: now) }
        if twin.slot == nil, splicer.onAir == mixer.feed, now >= twin.retryAt, memory.isPlentiful(now: now) {
            startTwin(plan, beside: mixer, now: now)
        }
        guard twin.slot != nil, let scene = mixer.scene else { return }
        twin.slot?.reportVolumes(plan.sei?.layoutVolume != nil)
        for id in plan.sources.map(\.id) {
            guard let source = sources[id], source.fact(now: now).isDecodable else { continue }
            twin.slot?.replay(id, source.timeline, now: now)
        }
        twin.slot?.show(scene, now: now)
        if let reason = twin.slot?.hang(now: now) {
            twin.slot?.failure = reason
            twin.slot?.process.kill()
        }
        watchMixer(now: now)
    }

    /// Returns whether this mixer should have a twin: not for a slate, and not on an overloaded machine.
    private func isTwinWanted(_ plan: ProgramPlan, beside mixer: MixerSlot) -> Bool {
        guard case .mix = plan.mode, plan.redundancy == .twin, plan.degradation == nil, plan.tracks != .audio else {
            return false
        }
        guard let scene = mixer.scene, !scene.isIdle, mixer.fits(plan.scene.canvas, plan) else { return false }
        return outgoingMixer == nil && splicer.onAir?.isMixer ?? false
    }

    /// Starts a twin whose pictures have the same times as the program's.
    private func startTwin(_ plan: ProgramPlan, beside mixer: MixerSlot, now: MediaTime) {
        guard let scene = mixer.scene, var slot = launchMixer(now: now) else { return }
        let origin = takeoverTime(fps: scene.canvas.fps, now: now)
        slot.start(setup(scene: scene, plan: plan, now: now, origin: origin), encoding: plan.encoding, now: now)
        splicer.setInterval(.units(1, rate: scene.canvas.fps), of: slot.feed)
        twin.slot = slot
        logger.debug("mixer \(slot.generation) is the twin of \(mixer.generation)")
    }

    /// Ends the twin, unless viewers see it.
    private func endTwin(now: MediaTime) {
        guard let slot = twin.slot, !splicer.needs(slot.feed) else { return }
        slot.process.stop()
        perform(splicer.remove(slot.feed, now: now))
        twin.slot = nil
    }

    /// Records a frame of one of the pair, before the splicer gets it.
    ///
    /// The twin makes a picture only when the mixer on air has delivered it, so that it can still make the next picture
    /// whenever the mixer on air fails.
    func twinNotes(_ frame: EncodedFrame, of slot: MixerSlot, now: MediaTime) {
        guard let follower = twin.slot else { return }
        if follower.generation == slot.generation { twin.slot?.note(frame, now: now) }
        guard frame.track == .video, let fps = follower.setup?.canvas.fps else { return }
        let interval = MediaTime.units(1, rate: fps)
        if mixer?.generation == slot.generation, splicer.onAir == slot.feed {
            twin.watch.noteOnAir(at: now)
            follower.process.send(.pictures(until: frame.pts + interval / 2))
        } else if follower.generation == slot.generation, splicer.onAir == mixer?.feed,
            twin.watch.takesOver(
                with: frame, after: splicer.lastVideo, interval: interval,
                isAimedElsewhere: splicer.target != splicer.onAir, isMixerSilent: isMixerSilent(now: now))
        {
            logger.notice("a mixer is late: its twin \(slot.generation) takes over")
            swap(&mixer, &twin.slot)
            twin.watch = TwinWatch()
            perform(splicer.setTarget(slot.feed, now: now))
        }
    }

    /// Asks the twin for the next picture, as an IDR, if the mixer on air is late with it.
    func watchMixer(now: MediaTime) {
        guard let follower = twin.slot, let fps = follower.setup?.canvas.fps, let last = splicer.lastVideo else {
            return
        }
        let interval = MediaTime.units(1, rate: fps)
        guard splicer.onAir == mixer?.feed, twin.watch.suspects(interval: interval, now: now) else { return }
        follower.process.send(.requestIDR(last + interval))
        follower.process.send(.pictures(until: nil))
    }

    /// Replaces the mixer on air, which has ended, by the twin.
    func twinTakesOver(from slot: MixerSlot, _ reason: String, now: MediaTime) {
        guard let next = twin.slot else { return }
        mixer = next
        twin.slot = nil
        noteTwinFailure(of: slot, now: now)
        twin.watch = TwinWatch()
        perform(splicer.setTarget(next.feed, now: now))
        perform(splicer.askTarget())
        next.process.send(.pictures(until: nil))
        note(code: "mixer-failed", "\(reason). Its twin has taken over, and another twin is started")
    }

    /// Handles the unexpected end of the twin.
    func twinEnded(_ slot: MixerSlot, _ reason: String, now: MediaTime) {
        twin.slot = nil
        noteTwinFailure(of: slot, now: now)
        note(code: "twin-failed", "\(reason). The mix is not affected, and another twin is started")
    }

    private func noteTwinFailure(of slot: MixerSlot, now: MediaTime) {
        let isHealthy = slot.setup.map { now - $0.videoOrigin > Relay.healthyAfter } ?? false
        twin.failed(isHealthy: isHealthy, now: now, wait: MixerRecovery.pause)
    }
}
