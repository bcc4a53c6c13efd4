import LayoutEngine
import MixModel
import ProgramSplicer

extension Relay {
    /// A mixer that has run for this long is healthy: the next failure is the first again.
    private static let healthyAfter = MediaTime.seconds(30)
    /// A mixer that has not taken this much from its socket hangs.
    private static let hangLimit = 24 << 20
    /// How long a mix goes on after it was told to let somebody's sound go: the mixer fades it out over one AAC frame, and a
    /// splice in the middle of that is a click. A GOP of one person's may begin meanwhile; then the next one is taken.
    private static let fadeOut = MediaTime.milliseconds(100)

    /// Brings mixer, target and scene in line with the plan and with what is possible now.
    func reconsider() {
        guard let plan else { return }
        let now = now
        let facts = sources.mapValues { $0.fact(now: now) }
        let onAir = splicer.onAir
        let isMixerFailing = mixer == nil && mixerFailures > 1 && now < mixerRetryAt
        let decision = director.decide(
            plan: plan, age: now - planAppliedAt, onAir: onAir, sources: facts, isOnAirLost: isOnAirLost,
            isMixerFailing: isMixerFailing)
        let scene = decision.isSceneReady ? plan.scene : (sceneOnAir ?? plan.scene)
        provideMixer(decision, plan: plan, scene: scene, now: now)
        // One that is about to be left, or replaced, keeps what it shows.
        if let mixer, mixer.fits(scene.canvas, plan) {
            divideFrames(of: mixer, by: plan.degradation?.frameDivisor ?? 1)
            self.mixer?.reportVolumes(plan.sei?.layoutVolume != nil)
            let shown = opening(of: scene) ?? scene
            // Before the scene: it finds everybody decoding, and waits for their pictures.
            for id in plan.sources.map(\.id) where facts[id]?.isDecodable ?? false {
                if let timeline = sources[id]?.timeline { self.mixer?.replay(id, timeline) }
            }
            self.mixer?.show(shown)
            if splicer.onAir == mixer.feed, let before = sceneOnAir, before.isHeardLess(in: shown) {
                fadesUntil = now + Relay.fadeOut
            }
            sceneOnAir = shown
        }
        switch decision.aim {
        case .wait: break
        case .source where splicer.onAir?.isMixer ?? false && now < fadesUntil && !isOnAirLost: break
        case .source(let source):
            perform(splicer.setTarget(.source(source), now: now))
            if splicer.onAir == nil { begin(with: source, now: now) }
        case .mixer:
            if let mixer { perform(splicer.setTarget(mixer.feed, now: now)) }
        }
        retireMixers(need: decision.mixer, now: now)
        let isCalm = isCalm(now: now)
        let isForOthers = configuration.keepsMixerReady && !(plan.isOfOne ?? false)
        // A mix that is to be left has a plan that says nothing of it: what its own plan said counts.
        if case .mix = plan.mode { isMixCheaper = plan.degradation != nil }
        let isSpareWanted = sparePolicy.isWanted(
            for: decision, onAir: onAir, isCalm: isCalm, canAfford: isForOthers && memory.isPlentiful(now: now),
            isBusy: isMixCheaper, now: now)
        keepSpare(isWanted: isSpareWanted, now: now)
        ticker.setPace(isCalm ? .calm : .quick)
    }

    /// A mixer that takes over is asked for the very frame; only one on air keeps its own distance.
    private func divideFrames(of slot: MixerSlot, by divisor: Int) {
        mixer?.divideFrames(by: divisor)
        guard let fps = slot.setup?.canvas.fps else { return }
        splicer.setInterval(.units(splicer.onAir == slot.feed ? Int64(divisor) : 1, rate: fps), of: slot.feed)
    }

    /// What a mixer shows until it takes over from one person's bypass: that person alone. The way to the scene begins
    /// when viewers see it, and with what they saw before. `nil` where scenes are cut.
    private func opening(of scene: Scene) -> Scene? {
        guard case .source(let source) = splicer.onAir, scene.transition.duration > 0 else { return nil }
        return scene.opening(with: source)
    }

    /// True in a bypass that goes its way: packets and messages bring about all that can happen next.
    private func isCalm(now: MediaTime) -> Bool {
        guard case .bypass(let source) = plan?.mode, mixer == nil, outgoingMixer == nil else { return false }
        guard splicer.onAir == .source(source), splicer.target == splicer.onAir else { return false }
        return sources.values.allSatisfy { $0.isSteady(now: now) }
    }

    /// True when the mixer on air has died.
    private var isOnAirLost: Bool {
        guard let onAir = splicer.onAir, onAir.isMixer else { return false }
        return onAir != mixer?.feed && onAir != outgoingMixer?.feed
    }

    /// Puts the first source on air from its last keyframe, without waiting for the next.
    private func begin(with source: SourceID, now: MediaTime) {
        for frame in sources[source]?.timeline.currentGOP ?? [] where frame.track == .video {
            perform(splicer.frame(frame, of: .source(source), now: now))
        }
    }

    /// One that cannot make what is wanted goes on, fed as before, until another one takes over. It is not replaced for the
    /// time until a source does.
    private func provideMixer(_ decision: ProgramDirector.Decision, plan: ProgramPlan, scene: Scene, now: MediaTime) {
        guard decision.mixer == .running else { return }
        if let mixer, !mixer.fits(scene.canvas, plan), outgoingMixer == nil {
            if case .source = decision.aim, splicer.onAir == mixer.feed { return }
            outgoingMixer = mixer
            self.mixer = nil
        }
        guard mixer == nil, now >= mixerRetryAt, let next = spareMixer ?? launchMixer(now: now) else { return }
        spareMixer = nil
        logger.debug("mixer \(next.generation) is told to run at \(now)")
        mixer = next
        mixer?.start(setup(scene: scene, plan: plan, now: now), encoding: plan.encoding)
        splicer.setInterval(.units(1, rate: scene.canvas.fps), of: next.feed)
    }

    /// Has a mixer's process wait while one is likely to be wanted soon.
    private func keepSpare(isWanted: Bool, now: MediaTime) {
        if isWanted, spareMixer == nil, mixerFailures == 0 { spareMixer = launchMixer(now: now) }
        if !isWanted, let spare = spareMixer {
            spare.process.stop()
            spareMixer = nil
        }
    }

    /// `nil` when its process cannot be started.
    private func launchMixer(now: MediaTime) -> MixerSlot? {
        mixerGeneration += 1
        let generation = mixerGeneration
        do {
            let process = try MixerProcess(
                executable: configuration.worker, label: "mixer.\(generation)",
                onEvent: { [inbox] event in inbox.yield(.mixer(generation: generation, event)) })
            logger.info("mixer \(generation) started, pid \(process.processID)")
            return MixerSlot(generation: generation, process: process)
        } catch {
            mixerFailed("cannot be started: \(error)", now: now)
            return nil
        }
    }

    /// Mixers that are neither on air nor on their way there are ended.
    private func retireMixers(need: ProgramDirector.MixerNeed, now: MediaTime) {
        if let outgoing = outgoingMixer, !splicer.needs(outgoing.feed) {
            outgoing.process.stop()
            perform(splicer.remove(outgoing.feed, now: now))
            outgoingMixer = nil
        }
        if let mixer, need == .none, !splicer.needs(mixer.feed) {
            mixer.process.stop()
            perform(splicer.remove(mixer.feed, now: now))
            self.mixer = nil
            sceneOnAir = nil
        }
        if let mixer, mixer.process.pendingBytes > Relay.hangLimit {
            self.mixer?.failure = "takes no input: it is replaced"
            mixer.process.kill()
        }
    }

    /// Lays the mixer's grids on what is on air, so that taking over costs neither a gap nor a step.
    ///
    /// What the plan does not say of the encoding is the service's choice for video, and the host's format for sound.
    private func setup(scene: Scene, plan: ProgramPlan, now: MediaTime) -> MixerSetup {
        let encoding = plan.encoding
        let host = hostID
        let timeline = host.flatMap { sources[$0]?.timeline }
        let videoOrigin = videoOrigin(fps: scene.canvas.fps, now: now)
        let format =
            splicer.audioConfiguration.flatMap { AudioSpecificConfig($0.bytes) } ?? timeline?.audioFormat
        let isUsable = format.map { (8000...48000).contains($0.sampleRate) } ?? false
        let channels = encoding?.audioChannels ?? min(max(format?.channels ?? 2, 1), 2)
        let area = scene.canvas.width * scene.canvas.height
        return MixerSetup(
            canvas: scene.canvas, videoOrigin: videoOrigin, audioOrigin: audioOrigin(near: videoOrigin),
            programStart: programStart,
            sampleRate: encoding?.audioSampleRate ?? (isUsable ? format?.sampleRate ?? 48000 : 48000),
            channels: channels, colour: timeline?.sequenceParameters?.colour ?? .unsignalled,
            // A tenth of a bit a pixel is transparent enough for faces at these sizes.
            videoBitrate: encoding?.videoBitrate ?? min(max(area * scene.canvas.fps / 10, 400_000), 8_000_000),
            audioBitrate: encoding?.audioBitrate ?? channels * 64_000, host: host, tracks: plan.tracks,
            gopFrames: encoding?.gopFrames, videoCodec: encoding?.videoCodec, profile: encoding?.profile,
            preset: encoding?.preset)
    }

    /// The source whose grid and configuration the program follows.
    var hostID: SourceID? {
        switch plan?.mode {
        case .mix(let host): host
        case .bypass(let source): source
        case .slate, nil: splicer.onAir.flatMap(source(of:))
        }
    }

    /// The next frame time of what is on air that the mixer can reach, or the one right after a source that is silent.
    private func videoOrigin(fps: Int, now: MediaTime) -> MediaTime {
        guard let last = splicer.lastVideo, let onAir = splicer.onAir else { return now }
        guard case .source(let id) = onAir, let source = sources[id] else {
            return last + .units(1, rate: fps)
        }
        let frames: Int64 = source.isSilent(now: now) ? 1 : 2
        return last + source.timeline.frameInterval * frames
    }

    /// The frame boundary of the host's own audio nearest before `origin` and before the program's next audio frame, so
    /// that its samples stay whole frames and none is missing; of the program's grid where the host has none.
    private func audioOrigin(near video: MediaTime) -> MediaTime {
        let origin = splicer.audioGrid.map { min(video, $0.next + $0.frame / 2) } ?? video
        if let (newest, format) = hostID.flatMap({ sources[$0]?.timeline.audioGrid }) {
            let frame = Double(format.samplesPerFrame) / Double(format.sampleRate)
            let frames = Int64(saturating: ((origin - newest).inSeconds / frame).rounded(.down))
            return newest + .units(frames * Int64(format.samplesPerFrame), rate: format.sampleRate)
        }
        guard let (next, frame) = splicer.audioGrid else { return origin }
        return next + frame * Int64(saturating: ((origin - next).inSeconds / frame.inSeconds).rounded(.down))
    }

    func mixerEvent(_ event: MixerProcess.Event, generation: Int) {
        let slots = [mixer, outgoingMixer, spareMixer].compactMap(\.self)
        guard let slot = slots.first(where: { $0.generation == generation })
        else {
            if case .exited(let status) = event { logger.info("mixer \(generation) has ended, \(status)") }
            return
        }
        if case .report(let report) = event { slot.process.backlog.remove(report.footprint) }
        switch event {
        case .report(.configuration(let configuration)):
            logger.debug("mixer \(generation): first \(configuration.track) at \(now)")
            splicer.configure(slot.feed, configuration)
        case .report(.frame(let frame)):
            if mixer?.generation == generation { mixer?.note(frame, now: now) }
            perform(splicer.frame(frame, of: slot.feed, now: now))
            mixerError = nil
            if slot.setup.map({ frame.pts - $0.videoOrigin > Relay.healthyAfter }) ?? false {
                mixerFailures = 0
                toldMixerErrors = []
            }
            if splicer.onAir == slot.feed, outgoingMixer != nil { reconsider() }
        case .report(.sourceFailed(let source, let reason)):
            note(code: "source-not-decodable", "\(source) cannot be decoded: \(reason)")
        case .report(.volumes(let volumes)):
            if mixer?.generation == generation { mixer?.volumes = volumes }
        case .report(.delays(let delays)): splicer.setDelays(delays, in: slot.feed)
        case .report(.note(let code, let message)):
            note(code: code, message)
        case .report(.failed(let reason)):
            // It ends now; its end is what is told, once and with this reason.
            if mixer?.generation == generation { mixer?.failure = reason }
            if spareMixer?.generation == generation { spareMixer?.failure = reason }
        case .unreadable(let reason):
            // Its end is what is told.
            if mixer?.generation == generation { mixer?.failure = reason }
            if spareMixer?.generation == generation { spareMixer?.failure = reason }
            slot.process.kill()
        case .exited(let status):
            perform(splicer.remove(slot.feed, now: now))
            if outgoingMixer?.generation == generation {
                outgoingMixer = nil
            } else {
                if mixer?.generation == generation { mixer = nil } else { spareMixer = nil }
                mixerFailed(slot.failure ?? "ended unasked, \(status)", now: now)
            }
            reconsider()
        }
    }

    /// The first replacement comes at once, the next after 0.5, 1, 2, 4, 8, 16, 30 s. The same reason is told once until
    /// a mixer is healthy: a missing encoder must not fill log and timeline.
    private func mixerFailed(_ reason: String, now: MediaTime) {
        mixerFailures += 1
        let wait = mixerFailures == 1 ? 0 : min(0.5 * Double(1 << min(mixerFailures - 2, 6)), 30)
        mixerRetryAt = now + .seconds(wait)
        mixerError = "mixer: \(reason)"
        if toldMixerErrors.count < 8, toldMixerErrors.insert(reason).inserted {
            note(
                code: "mixer-failed",
                "\(reason). Viewers get one person's own stream until another mixer works; it is tried again and again")
        }
        reportStatus()
    }
}
