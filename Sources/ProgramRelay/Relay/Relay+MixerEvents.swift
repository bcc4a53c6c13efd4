import EncodedMedia
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer

/// Handling of mixers' reports and of their ends.
extension Relay {
    func mixerEvent(_ event: MixerProcess.Event, generation: Int) {
        if case .started(let processID) = event { logger.info("mixer \(generation) started, pid \(processID)") }
        let slots = [mixer, outgoingMixer, spareMixer, twin.slot].compactMap(\.self)
        guard let slot = slots.first(where: { $0.generation == generation })
        else {
            if case .exited(let status) = event { logger.info("mixer \(generation) has ended, \(status)") }
            return
        }
        if case .report(let report) = event { slot.process.backlog.remove(report.footprint) }
        switch event {
        case .started: break
        case .report(.configuration(let configuration)):
            logger.debug("mixer \(generation): first \(configuration.track) at \(now)")
            perform(splicer.configure(slot.feed, configuration))
        case .report(.frame(let frame)): take(frame, from: slot)
        // A twin repeats the reports of the mixer on air.
        case .report(.sourceFailed) where generation == twin.slot?.generation,
            .report(.note) where generation == twin.slot?.generation:
            break
        case .report(.sourceFailed(let source, let reason)):
            note(code: "source-not-decodable", "\(source) cannot be decoded: \(reason)")
        case .report(.volumes(let volumes)):
            if mixer?.generation == generation { mixer?.volumes = volumes }
        case .report(.delays(let delays)): splicer.setDelays(delays, in: slot.feed)
        case .report(.idle(let status, let item)):
            if mixer?.generation == generation { idleReported(status, item: item) }
        case .report(.note(let code, let message)):
            note(code: code, message)
        case .report(.failed(let reason)):
            // The mixer now ends. Its end is reported once, with this reason.
            setFailure(reason, of: generation)
        case .unreadable(let reason):
            // Its end is reported, with this reason.
            setFailure(reason, of: generation)
            slot.process.kill()
        case .exited(let end): mixerExited(slot, end)
        }
    }

    /// Passes a frame to the splicer, and judges its mixer by it.
    private func take(_ frame: EncodedFrame, from slot: MixerSlot) {
        let generation = slot.generation
        if mixer?.generation == generation { mixer?.note(frame, now: now) }
        if outgoingMixer?.generation == generation { outgoingMixer?.note(frame, now: now) }
        twinNotes(frame, of: slot, now: now)
        // Pictures of a twin are not used until it has taken over.
        if generation != twin.slot?.generation {
            let wasSilent = isMixerSilent(now: now)
            recovery.delivered(frame.track, hasVideo: slot.setup?.hasVideo ?? true, at: now)
            // Called before the frame, with which the mixer may take over.
            if wasSilent, !isMixerSilent(now: now) { reconsider() }
        }
        if !repeatSlate(from: frame, of: slot, now: now) {
            perform(splicer.frame(frame, of: slot.feed, now: now))
        }
        if generation == twin.slot?.generation {
            // The report says nothing about the mix on air.
            return watchMixer(now: now)
        }
        mixerError = nil
        if slot.setup.map({ frame.pts - $0.videoOrigin > Relay.healthyAfter }) ?? false {
            recovery.recovered()
            reportedMixerErrors = []
        }
        if !basis.holds(with: feeds) { reconsider() }
    }

    /// Sets the reason that is reported when the mixer has ended. A mixer that is being replaced has none.
    private func setFailure(_ reason: String, of generation: Int) {
        if mixer?.generation == generation { mixer?.failure = reason }
        if spareMixer?.generation == generation { spareMixer?.failure = reason }
        if twin.slot?.generation == generation { twin.slot?.failure = reason }
    }

    private func mixerExited(_ slot: MixerSlot, _ end: WorkerEnd) {
        let generation = slot.generation
        perform(splicer.remove(slot.feed, now: now))
        let reason = slot.failure ?? end.failure
        if outgoingMixer?.generation == generation {
            outgoingMixer = nil
        } else if twin.slot?.generation == generation {
            twinEnded(slot, reason, now: now)
        } else if mixer?.generation == generation, twin.slot != nil {
            twinTakesOver(from: slot, reason, now: now)
        } else {
            if mixer?.generation == generation { playingMixerEnded() } else { spareMixer = nil }
            mixerFailed(reason, now: now)
        }
        reconsider()
    }

    /// Records a failure and schedules a replacement. A reason is reported only once until a mixer is healthy: a
    /// missing encoder must not fill the log and the timeline.
    func mixerFailed(_ reason: String, now: MediaTime) {
        recovery.failed(at: now)
        mixerError = "mixer: \(reason)"
        if reportedMixerErrors.count < 8, reportedMixerErrors.insert(reason).inserted {
            note(
                code: "mixer-failed",
                "\(reason). Viewers get one participant's own stream until a mixer works; the relay keeps retrying")
        }
        reportStatus()
    }
}
