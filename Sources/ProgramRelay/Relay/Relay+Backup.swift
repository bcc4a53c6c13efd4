import EncodedMedia
import LayoutEngine
import MixModel
import ProgramSplicer

/// Backups of sources, and sources of poor quality.
extension Relay {
    /// Time between two attempts to reach the first address while the backup is in use.
    static let probePause = MediaTime.seconds(2)

    /// Judges a source, and changes to its other address if the one in use has failed.
    func watchQuality(of id: SourceID, _ source: PulledSource, now: MediaTime) {
        if source.judgeQuality(), source.planned.backup == nil {
            if let poor = source.poor {
                note(code: "source-poor", "\(id): \(poor); its card is shown until it is good again")
            } else {
                note(code: "source-good", "\(id) is good again", isBad: false)
            }
            reportStatus()
            reconsider()
        }
        if let failure = source.failure(now: now) { changeAddress(of: id, source, because: failure, now: now) }
        probe(id, source, now: now)
    }

    /// Pulls the other address of a source from now on. A failed backup is kept while the first address is quarantined; if
    /// its connection has ended, it is opened again as that of a source without a backup is.
    func changeAddress(of id: SourceID, _ source: PulledSource, because reason: String, now: MediaTime) {
        if source.usesBackup, case .quarantined = quarantine.admit(id, now: now) { return }
        source.chooseOther(now: now)
        endProbe(of: source)
        if source.isChangeNews {
            note(
                code: source.usesBackup ? "source-backup" : "source-first",
                "\(id): \(reason); its \(source.usesBackup ? "backup" : "first address") is pulled")
        }
        if source.connectsAtOnce { connect(id) }
        reportStatus()
    }

    /// Connects to the first address while the backup is in use.
    private func probe(_ id: SourceID, _ source: PulledSource, now: MediaTime) {
        guard source.usesBackup, source.removedAt == nil else { return endProbe(of: source) }
        if let probe = source.probe, now - (probe.lastMedia ?? probe.begun) > BackupChoice.beginning {
            endProbe(of: source)
        }
        guard source.probe == nil, now - source.probedAt >= Relay.probePause else { return }
        source.probedAt = now
        guard quarantine.admit(id, now: now) == .now else { return }
        // An address that is blamed already is recorded before anything of it is parsed. Of another one, a crash is
        // recorded by the next relay, which begins with the first address.
        if quarantine.records[id]?.crashes ?? 0 > 0 {
            quarantine.connected(id, now: now)
            pullRecord.write(quarantine.records)
        }
        let attempt = source.newAttempt()
        let backlog = Backlog(limit: Relay.pullLimit)
        let pull = PullProtocols.open(
            source.planned.url, reach: plan?.sourceReach, worker: configuration.worker, videoCodecs: carriedCodecs
        ) { [weak self] event in
            if let input = Relay.input(event, of: id, attempt: attempt, backlog) { self?.post(input) }
        }
        source.probe = SourceProbe(
            pull: pull, attempt: attempt, backlog: backlog, begun: now,
            watch: plan?.quality.map(QualityWatch.init))
    }

    /// Handles media of the first address while the backup is in use, and returns to that address with an IDR once it
    /// has been good for long enough.
    func probed(_ items: [MediaItem], of id: SourceID, _ source: PulledSource, size: Int, now: MediaTime) {
        guard var probe = source.probe else { return }
        probe.backlog.remove(size)
        do throws(SourceGate.Excess) {
            try source.check(probed: items, now: now)
        } catch {
            source.delayProbe(now: now)
            logger.debug("source \(id): its first address is not used: \(error)")
            return endProbe(of: source)
        }
        if !probe.hasDelivered {
            // Not when it opens: an address that is down for hours would cost a write for each attempt, and would be
            // blamed for crashes with other causes.
            probe.hasDelivered = true
            quarantine.connected(id, now: now)
            pullRecord.write(quarantine.records)
        }
        quarantine.delivered(id, isConfigured: false, now: now)
        for item in items {
            switch item {
            case .configuration(let configuration):
                guard probe.configurations[configuration.track] != configuration else { continue }
                probe.configurations[configuration.track] = configuration
                quarantine.delivered(id, isConfigured: true, now: now)
                pullRecord.write(quarantine.records)
            case .frame(let frame):
                probe.watch?.took(frame, at: now)
                probe.lastMedia = now
            case .discontinuity, .metadata: break
            }
        }
        _ = probe.watch?.judge(expectsPictures: source.planned.video)
        source.probe = probe
        let isGood = probe.lastMedia != nil && probe.watch.map { $0.fault == nil && $0.isProven } ?? true
        guard source.choice.first(isGood: isGood, at: now) else { return }
        let isSoundAlone = probe.configurations[.video] == nil
        guard let begin = items.firstIndex(where: { isSoundAlone ? $0.isFrame : $0.isIDR }) else { return }
        if let old = source.adoptProbe(now: now) { endings.append { await old.close() } }
        quarantine.disconnected(id.backup)
        note(code: "source-first", "\(id): its first address is good again and is pulled", isBad: false)
        let configurations = probe.configurations.values.map { MediaItem.configuration($0) }
        pulled([.discontinuity] + configurations + items[begin...], of: id, source, arrival: now)
        reportStatus()
    }

    /// Ends the connection to the first address, which is not in use.
    func endProbe(of source: PulledSource) {
        guard let probe = source.probe else { return }
        source.probe = nil
        quarantine.disconnected(source.planned.id)
        _ = source.choice.first(isGood: false, at: now)
        endings.append { await probe.pull.close() }
    }

    /// Returns the scene with cards for the sources that are poor or paused.
    func withCards(_ scene: Scene) -> Scene {
        let hidden = sources.filter(\.value.isCardShown)
        guard !hidden.isEmpty else { return scene }
        var scene = scene
        for index in scene.panes.indices where hidden[SourceID(scene.panes[index].source)] != nil {
            scene.panes[index].isLive = false
        }
        return scene
    }
}
