import EncodedMedia
import MediaFormats
import MixModel
import ProgramSplicer

extension Relay {
    /// Largest number of bytes of a source waiting for the relay, as counted by `MediaItem.footprint`. A server's
    /// cached group of pictures arrives at once.
    static let pullLimit = 64 << 20
    private static let tooMuch = PullEnd(
        .tooMuchPending, "it sends faster than can be processed: \(pullLimit >> 20) MiB are pending")

    /// Reads which sources the previous relay was pulling when it crashed.
    func takeUpQuarantine() {
        quarantine = SourceQuarantine(after: pullRecord.read(), now: now)
        guard !quarantine.records.isEmpty else { return }
        let suspects = quarantine.records.map { "\($0) (crashes in a row: \($1.crashes))" }.sorted()
        logger.warning("the relay before this one crashed shortly after it had begun to pull \(suspects)")
        pullRecord.write(quarantine.records)
    }

    /// Opens a new connection to a source, in place of any other. An address that may have crashed the previous relay
    /// must wait; if it is the first one, the backup is pulled meanwhile.
    func connect(_ id: SourceID) {
        disconnect(id)
        guard let source = sources[id] else { return }
        let admission = quarantine.admit(source.quarantineID, now: now)
        if case .quarantined(_, let seconds, let crashes) = admission,
            source.planned.backup != nil, !source.usesBackup
        {
            let reason =
                "the relay crashed \(crashes) times in a row while it pulled the first address, which is left out for "
                + "\(seconds) s"
            return changeAddress(of: id, source, because: reason, now: now)
        }
        guard admission == .now else {
            source.hold(admission)
            return tellNews(of: id)
        }
        quarantine.connected(source.quarantineID, now: now)
        pullRecord.write(quarantine.records)
        let attempt = source.attempt
        let backlog = Backlog(limit: Relay.pullLimit)
        let pull = PullProtocols.open(
            source.url, reach: plan?.sourceReach, worker: configuration.worker, isRetry: source.failures > 0,
            videoCodecs: carriedCodecs
        ) { [weak self, logger] event in
            if case .connected = event { logger.debug("source \(id): the server has answered") }
            if let input = Relay.input(event, of: id, attempt: attempt, backlog) { self?.post(input) }
        }
        sources[id]?.connected(pull, now: now)
        sources[id]?.backlog = backlog
    }

    /// Video codecs that the program has with this plan.
    var carriedCodecs: Set<VideoCodec> { plan?.encoding?.videoCodec == .h265 ? [.h264, .h265] : [.h264] }

    /// Returns the relay's input for a pull's event; `nil` if there is none. Adds media to the backlog, from which the
    /// relay removes it when it handles the input.
    static func input(_ event: PullEvent, of id: SourceID, attempt: Int, _ backlog: Backlog) -> RelayInput? {
        switch event {
        case .connected: return nil
        case .media(let items, let arrival):
            let size = items.reduce(0) { $0 + $1.footprint }
            return switch backlog.add(size) {
            case .taken: .pulled(id, attempt: attempt, items, size: size, arrival: arrival)
            case .exceeded: .pullEnded(id, attempt: attempt, tooMuch)
            case .over: nil
            }
        case .ended(let end): return .pullEnded(id, attempt: attempt, end)
        }
    }

    /// Reports a source's failure once, not at every attempt. The status always contains it.
    func tellNews(of id: SourceID) {
        guard let news = sources[id]?.news(now: now) else { return }
        note(code: news.code, news.message)
        reportStatus()
    }

    func disconnect(_ id: SourceID) {
        if let pull = sources[id]?.disconnect() { endings.append { await pull.close() } }
        // A probe of the first address goes on.
        if sources[id]?.probe == nil { quarantine.disconnected(id) }
        quarantine.disconnected(id.backup)
    }

    /// Removes all records of a source that is no longer planned, or has another first address.
    func forgetQuarantine(of id: SourceID) {
        quarantine.forget(id)
        quarantine.forget(id.backup)
    }

    /// Removes sources that left the plan once they are off air (make before break), after a short delay, so that a
    /// mixer can fade out their audio.
    func removeIdleSources() {
        let now = now
        for (id, source) in sources {
            guard let removedAt = source.removedAt, now - removedAt > Relay.farewell else { continue }
            guard !splicer.needs(.source(id)) || source.isSilent(now: now) else { continue }
            endProbe(of: source)
            disconnect(id)
            forgetQuarantine(of: id)
            sources[id] = nil
            people[id] = nil
            perform(splicer.remove(.source(id), now: now))
            removeFromMixers(id)
        }
    }

    /// Handles the end of a source's connection, which is reopened later.
    func pullEnded(_ end: PullEnd, of id: SourceID) {
        logger.debug("source \(id) ended (\(end.kind)): \(end)")
        sources[id]?.ended(end, now: now)
        disconnect(id)
        tellNews(of: id)
        if let source = sources[id], source.planned.backup != nil, source.removedAt == nil {
            changeAddress(of: id, source, because: end.words, now: now)
        }
        // Media from before its unsupported track was noticed must not be shown.
        if sources[id]?.status(now: now).state == .failed { removeFromMixers(id) }
        reconsider()
    }

    /// Passes a source's packets to the splicer first and then to the mixer, because a splice decided on a packet must
    /// reach the mixer before the packet does.
    func pulled(_ arrived: [MediaItem], of id: SourceID, _ source: PulledSource, arrival: MediaTime) {
        let isNew = source.firstKeyframeAt == nil
        let isOdd = source.correctedFrames > 0
        let wasPaused = source.isPaused
        let items: [MediaItem]
        do throws(SourceGate.Excess) {
            items = try source.take(arrived, now: arrival)
        } catch {
            if source.choice.way == .first { source.delayProbe(now: arrival) }
            return pullEnded(PullEnd(.excessive, "\(error)"), of: id)
        }
        if isNew, source.firstKeyframeAt != nil { logger.info("source \(id): first keyframe at \(arrival)") }
        if !isOdd, source.correctedFrames > 0 {
            logger.notice("source \(id): presentation times far from the decoding times are corrected")
        }
        if !source.hasDelivered {
            source.hasDelivered = true
            quarantine.delivered(source.quarantineID, isConfigured: false, now: arrival)
        }
        let feed = SpliceInput.source(id)
        let host = hostID.flatMap { $0 == id ? nil : sources[$0] }
        let reference = host?.timeline.clock.leastLateness ?? .zero
        for item in items {
            if case .metadata(let body) = item { source.noteMetadata(body) }
            let isCopied = splicer.onAir == feed
            let isMixed = splicer.onAir?.isMixer ?? false && mixer?.scene?.uses(id) ?? false
            let role = SourceClock.Role(
                isOnAir: isCopied || isMixed, isCopied: isCopied,
                isLeaving: isCopied && splicer.target?.isMixer ?? false,
                reference: reference)
            for event in source.timeline.accept(item, arrival: arrival, as: role) {
                take(event, of: id, source, arrival: arrival)
            }
        }
        if splicer.onAir == feed {
            if source.hasStalled(.audio, now: arrival) { perform(splicer.fillSound(of: feed)) }
            watchForStall(of: source, now: arrival)
        }
        if source.isPaused != wasPaused || !basis.holds(with: source.fact(now: arrival), of: id)
            || !basis.holds(with: feeds)
        {
            reconsider()
        }
    }

    /// Handles what one item of a source has caused.
    private func take(
        _ event: SourceTimeline.Event, of id: SourceID, _ source: PulledSource, arrival: MediaTime
    ) {
        let feed = SpliceInput.source(id)
        // Before the splicer, because a splice may move the source's timeline.
        sendToOutputs(event, of: id)
        switch event {
        case .configuration(let configuration):
            logger.debug("source \(id): \(configuration.track) configured at \(arrival)")
            quarantine.delivered(source.quarantineID, isConfigured: true, now: arrival)
            pullRecord.write(quarantine.records)
            // A layout may depend on the pictures' aspect ratio.
            if configuration.track == .video {
                reportStatus()
                notePictures(of: id, source)
            }
            perform(splicer.configure(feed, configuration))
            for slot in mixers { slot.configure(id, configuration) }
        case .moved(let amount):
            source.noteMovement(now: arrival)
            splicer.move(feed, by: amount)
        case .discontinuity:
            source.noteMovement(now: arrival)
            if source.countsAsNews() {
                logger.notice(
                    "source \(id): its timestamps jumped and were remapped, \(source.steps) times so far")
            }
        case .frame(let frame):
            source.noteQuality(frame, now: arrival)
            source.noteArrival(of: frame.track, now: arrival)
            if frame.track == .video { splicer.setInterval(source.timeline.frameInterval, of: feed) }
            guard let frame = source.audible(frame) else { return }
            perform(splicer.frame(frame, of: feed, now: arrival))
            mixer?.send(frame, of: id)
            outgoingMixer?.send(frame, of: id)
            twin.slot?.send(frame, of: id)
        }
    }

    /// Asks the senders of sources for which a decoder or a splice waits for a keyframe, if the transport supports
    /// that.
    ///
    /// A keyframe that arrives while audio fades out before the splice would be too early.
    func requestKeyframes(facts: [SourceID: ProgramDirector.SourceFact], now: MediaTime) {
        for (id, source) in sources where source.takesKeyframeRequests && source.removedAt == nil {
            let isNext = splicer.target == .source(id) && splicer.onAir != .source(id)
            guard isNext || source.keyframes.isHolding || !(facts[id]?.isDecodable ?? false) else { continue }
            source.requestKeyframe(now: now)
        }
    }

    /// Reports once that a bypass waits for a keyframe.
    func tellWaiting(now: MediaTime) {
        var waiting: SourceID?
        if case .bypass(let id) = plan?.mode, splicer.onAir?.isMixer ?? false, sources[id]?.isAwaited(now: now) ?? false
        {
            waiting = id
        }
        let refreshes = waiting.flatMap { sources[$0] }?.timeline.refreshesGradually ?? false
        guard let news = keyframeWait.news(of: waiting, refreshesGradually: refreshes, now: now) else { return }
        note(code: "waiting-for-keyframe", news)
    }

    /// The mixers that show a scene, including the twin and the outgoing one.
    var mixers: [MixerSlot] { [mixer, outgoingMixer, twin.slot].compactMap(\.self) }

    func removeFromMixers(_ id: SourceID) {
        mixer?.remove(id)
        outgoingMixer?.remove(id)
        twin.slot?.remove(id)
    }
}
