import EncodedMedia
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer

extension Relay {
    /// Time after which a mixer counts as healthy and its next failure counts as the first. Longer than for other
    /// workers, because mixers that replace failed ones get more patience, which they must keep on a machine that
    /// delays them now and then.
    static let healthyAfter = MediaTime.seconds(30)
    /// Time for which a mix continues after a participant's audio was removed. The mixer fades it out over one AAC
    /// frame, and a splice in the middle of the fade would be a click. If a GOP of the next source begins in that time,
    /// the splice takes place at the following one.
    private static let fadeOut = MediaTime.milliseconds(100)

    /// Adapts the mixer, the splicer's target and the scene to the plan and to what is currently possible.
    func reconsider() {
        guard let plan else { return }
        let now = now
        let facts = sources.mapValues { $0.fact(now: now) }
        basis.take(feeds, facts)
        let onAir = splicer.onAir
        let isMixerFailing = mixer == nil && recovery.isHeldBack(at: now)
        let decision = sparingMixer(
            director.decide(
                plan: plan, age: now - planAppliedAt, onAir: onAir, sources: facts, isOnAirLost: isOnAirLost,
                isMixerFailing: isMixerFailing, isMixerSilent: isMixerSilent(now: now)), plan: plan, now: now)
        let isSceneReady = decision.isSceneReady && !keepsIdleMedia(plan, facts)
        let scene = withCards(isSceneReady ? plan.scene : sceneOnAir ?? plan.scene)
        if !scene.isIdle { idle.leave() }
        provideMixer(decision, plan: plan, scene: scene, now: now)
        // A mixer that is about to be left or replaced keeps its scene.
        if let mixer, mixer.fits(scene.canvas, plan) {
            show(scene, by: mixer, isOnlyDecoding: decision.mixer == .ready, plan, facts, now: now)
        }
        switch decision.aim {
        case .wait: break
        case .source where splicer.onAir?.isMixer ?? false && now < fadesUntil && !isOnAirLost: break
        case .source(let source):
            perform(splicer.setTarget(.source(source), now: now))
            if splicer.onAir == nil { begin(with: source, now: now) }
            // The source need not wait for the mixer's earlier frames.
            if let onAir, onAir.isMixer, isMixerSilent(now: now) { perform(splicer.ended(onAir, now: now)) }
        case .mixer:
            if let mixer { perform(splicer.setTarget(mixer.feed, now: now)) }
        }
        requestKeyframes(facts: facts, now: now)
        retireMixers(need: decision.mixer, now: now)
        keepTwin(plan, now: now)
        let isCalm = isCalm(now: now)
        let isForOthers = configuration.keepsMixerReady && !(plan.isOfOne ?? false)
        // The plan after a mix does not contain the mix's degradation, so the mix's own plan counts.
        if case .mix = plan.mode { isMixCheaper = plan.degradation != nil }
        let isSpareWanted = sparePolicy.isWanted(
            for: decision, onAir: onAir, isCalm: isCalm, canAfford: isForOthers && memory.isPlentiful(now: now),
            isBusy: isMixCheaper, now: now)
        keepSpare(isWanted: isSpareWanted, now: now)
        scheduleTick(now: now, isCalm: isCalm)
    }

    /// Gives the mixer the sources and the scene.
    ///
    /// - Parameter isOnlyDecoding: Whether a mixer without a scene gets none yet, but decodes and waits.
    private func show(
        _ scene: Scene, by mixer: MixerSlot, isOnlyDecoding: Bool, _ plan: ProgramPlan,
        _ facts: [SourceID: ProgramDirector.SourceFact], now: MediaTime
    ) {
        divideFrames(of: mixer, by: plan.degradation?.frameDivisor ?? 1)
        self.mixer?.reportVolumes(plan.sei?.layoutVolume != nil)
        let shown = opening(of: scene) ?? scene
        // Sent before the scene, which then waits for the pictures of every source, because all are being decoded.
        for id in plan.sources.map(\.id) where facts[id]?.isDecodable ?? false {
            if let timeline = sources[id]?.timeline { self.mixer?.replay(id, timeline, now: now) }
        }
        self.mixer?.play(idle.playlist)
        if isOnlyDecoding, mixer.scene == nil { return }
        standIn(now: now)
        self.mixer?.show(shown, now: now)
        if splicer.onAir == mixer.feed, let before = sceneOnAir, before.isHeardLess(in: shown) {
            fadesUntil = now + Relay.fadeOut
        }
        sceneOnAir = shown
    }

    /// The current feeds of the program.
    var feeds: DecisionBasis.Feeds {
        DecisionBasis.Feeds(
            onAir: splicer.onAir, target: splicer.target, heard: splicer.heard, mixer: mixer?.generation,
            outgoingMixer: outgoingMixer?.generation, spareMixer: spareMixer?.generation, twin: twin.slot?.generation)
    }

    /// Sets the mixer's frame divisor. The splicer expects divided frames only from a mixer on air, because one that
    /// takes over must deliver exactly the requested frame.
    private func divideFrames(of slot: MixerSlot, by divisor: Int) {
        mixer?.divideFrames(by: divisor)
        guard let fps = slot.setup?.canvas.fps else { return }
        splicer.setInterval(.units(splicer.onAir == slot.feed ? Int64(divisor) : 1, rate: fps), of: slot.feed)
    }

    /// Returns the scene that a mixer shows until it takes over from a participant's bypass: that participant alone.
    /// The transition then begins when viewers see it, from the picture that they saw before. Returns `nil` if scenes
    /// change with a cut.
    private func opening(of scene: Scene) -> Scene? {
        guard case .source(let source) = splicer.onAir, scene.transition.duration > 0 else { return nil }
        return scene.opening(with: source)
    }

    /// Tells the mixer for which tracks it need not wait, because the source on air has stalled.
    private func standIn(now: MediaTime) {
        guard let id = splicer.onAir.flatMap(source(of:)), let source = sources[id] else { return }
        mixer?.noteStalled(source.stalledTracks(now: now), of: id)
    }

    /// Returns whether a bypass runs undisturbed, so that only packets and messages can cause the next change.
    func isCalm(now: MediaTime) -> Bool {
        guard case .bypass(let source) = plan?.mode, mixer == nil, outgoingMixer == nil else { return false }
        guard splicer.onAir == .source(source), splicer.target == splicer.onAir else { return false }
        return sources.values.allSatisfy { $0.isSteady(now: now) }
    }

    /// Whether the mixer on air has died.
    private var isOnAirLost: Bool {
        guard let onAir = splicer.onAir, onAir.isMixer, !isSlateRepeated else { return false }
        return onAir != mixer?.feed && onAir != outgoingMixer?.feed && onAir != twin.slot?.feed
    }

    /// Returns whether no mixer has delivered for so long that the program leaves the mix on air, if possible.
    func isMixerSilent(now: MediaTime) -> Bool {
        recovery.isSilent(at: now, interval: mixer?.interval ?? .zero, isSlateRepeated: isSlateRepeated)
    }

    /// Puts the first source on air from its last keyframe, without waiting for the next one.
    private func begin(with source: SourceID, now: MediaTime) {
        for frame in sources[source]?.timeline.currentGOP ?? [] where frame.track == .video {
            perform(splicer.frame(frame, of: .source(source), now: now))
        }
    }

    /// Starts a mixer for the scene if one is needed. A running mixer that cannot make the scene continues with its
    /// input until another one takes over. It is not replaced if a source is about to take over.
    private func provideMixer(_ decision: ProgramDirector.Decision, plan: ProgramPlan, scene: Scene, now: MediaTime) {
        let isAtHand = configuration.forkServer != nil || (spareMixer ?? mixer) != nil
        guard decision.mixer == .running || decision.mixer == .ready && isAtHand else { return }
        if let mixer, !mixer.fits(scene.canvas, plan), outgoingMixer == nil {
            if case .source = decision.aim, splicer.onAir == mixer.feed { return }
            outgoingMixer = mixer
            self.mixer = nil
        }
        guard mixer == nil, now >= recovery.retryAt, let next = spareMixer ?? launchMixer(now: now) else { return }
        spareMixer = nil
        logger.debug("mixer \(next.generation) is told to run at \(now)")
        mixer = next
        mixer?.start(
            setup(scene: scene, plan: plan, now: now), encoding: plan.encoding, failures: recovery.failures, now: now)
        splicer.setInterval(.units(1, rate: scene.canvas.fps), of: next.feed)
    }

    /// Keeps a mixer's process waiting while one is likely to be needed soon.
    private func keepSpare(isWanted: Bool, now: MediaTime) {
        if isWanted, spareMixer == nil, recovery.failures == 0 { spareMixer = launchMixer(now: now) }
        if !isWanted, let spare = spareMixer {
            spare.process.stop()
            spareMixer = nil
        }
    }

    /// Begins to start a mixer's process; returns `nil` if that fails at once.
    func launchMixer(now: MediaTime) -> MixerSlot? {
        mixerGeneration += 1
        let generation = mixerGeneration
        do {
            let process = try MixerProcess(
                executable: configuration.worker, encoder: configuration.encoder,
                forkServer: configuration.forkServer, programStart: programStart,
                onEvent: { [weak self] event in self?.post(.mixer(generation: generation, event)) })
            return MixerSlot(generation: generation, process: process)
        } catch {
            mixerFailed("cannot be started: \(error)", now: now)
            return nil
        }
    }

    /// Ends mixers that are neither on air nor about to be, and kills hung ones.
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
        if let reason = mixer?.hang(now: now) {
            mixer?.failure = reason
            mixer?.process.kill()
        }
        if outgoingMixer?.hang(now: now) != nil { outgoingMixer?.process.kill() }
    }

    /// Returns the setup that aligns the mixer's grids with the feed on air, so that taking over causes neither a gap
    /// nor a step.
    ///
    /// For encoding settings that the plan leaves open, the service chooses those of video; those of audio follow the
    /// host's format.
    ///
    /// - Parameter origin: Time of the first picture; `nil` means that the mixer takes over.
    func setup(scene: Scene, plan: ProgramPlan, now: MediaTime, origin: MediaTime? = nil) -> MixerSetup {
        let encoding = plan.encoding
        let host = hostID
        let timeline = host.flatMap { sources[$0]?.timeline }
        let videoOrigin = origin ?? videoOrigin(fps: scene.canvas.fps, now: now)
        let format =
            splicer.audioConfiguration.flatMap { AudioSpecificConfig($0.bytes) } ?? timeline?.audioFormat
        let isUsable = format.map { (8000...48000).contains($0.outputSampleRate) } ?? false
        let channels = encoding?.audioChannels ?? min(max(format?.outputChannels ?? 2, 1), 2)
        let area = scene.canvas.width * scene.canvas.height
        return MixerSetup(
            canvas: scene.canvas, videoOrigin: videoOrigin, audioOrigin: audioOrigin(near: videoOrigin),
            programStart: programStart,
            sampleRate: encoding?.audioSampleRate ?? (isUsable ? format?.outputSampleRate ?? 48000 : 48000),
            channels: channels, colour: timeline?.sequenceParameters?.colour ?? .unsignalled,
            // 0.1 bit per pixel is sufficient for faces at these sizes.
            videoBitrate: encoding?.videoBitrate ?? min(max(area * scene.canvas.fps / 10, 400_000), 8_000_000),
            audioBitrate: encoding?.audioBitrate ?? channels * 64_000, host: host, tracks: plan.tracks,
            gopFrames: encoding?.gopFrames, videoCodec: encoding?.videoCodec, profile: encoding?.profile,
            preset: encoding?.preset, threads: encoding?.threads)
    }

    /// The source whose grid and configuration the program follows.
    var hostID: SourceID? {
        switch plan?.mode {
        case .mix(let host): host
        case .bypass(let source): source
        case .slate, nil: splicer.onAir.flatMap(source(of:))
        }
    }

    /// Returns the next frame time on air that the mixer can reach, or the one right after the last frame of a silent
    /// source.
    private func videoOrigin(fps: Int, now: MediaTime) -> MediaTime {
        guard let last = splicer.lastVideo, let onAir = splicer.onAir else { return now }
        if isSlateRepeated {
            let time = takeoverTime(fps: fps, now: now)
            slate.end(at: time)
            return time
        }
        guard case .source(let id) = onAir, let source = sources[id] else {
            return last + .units(1, rate: fps)
        }
        let frames: Int64 = source.isSuspect(now: now) ? 1 : 2
        return last + source.timeline.frameInterval * frames
    }

    /// Returns the boundary of the host's own audio frames nearest before the video origin and before the program's
    /// next audio frame, so that its samples stay whole frames and none is missing. Uses the program's grid if the host
    /// has none.
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
}
