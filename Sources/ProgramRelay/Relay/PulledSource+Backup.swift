import EncodedMedia
import MixModel
import ProgramSplicer

/// A connection to a source's first address while its backup is in use. Its media is judged, but not shown.
struct SourceProbe {
    let pull: any SourcePull
    let attempt: Int
    let backlog: Backlog
    let begun: MediaTime
    var watch: QualityWatch?
    /// Whether anything has arrived.
    var hasDelivered = false
    var lastMedia: MediaTime?
    var configurations: [Track: CodecConfiguration] = [:]
}

extension SourceID {
    /// The name of the source's backup in `SourceQuarantine`, which knows the first address by the source's own name:
    /// one of them may be healthy while the other crashes relays. A source's own name ends with the kind of its stream.
    var backup: SourceID { SourceID("\(rawValue)#backup") }
}

/// The two addresses of a source, and its quality.
extension PulledSource {
    /// The URL that is being pulled.
    var url: String { choice.way == .backup ? planned.backup ?? planned.url : planned.url }

    /// Whether the backup is in use.
    var usesBackup: Bool { choice.way == .backup && planned.backup != nil }

    /// The name of the address in use in `SourceQuarantine`.
    var quarantineID: SourceID { usesBackup ? planned.id.backup : planned.id }

    /// Sets the quality limits of the plan.
    func judge(by limits: QualityLimits?) {
        guard limits != quality?.limits else { return }
        quality = limits.map(QualityWatch.init)
        let recovery = limits?.recoverySeconds ?? QualityLimits.usualRecovery
        if choice.way == .first { choice = BackupChoice(recovery: .seconds(Double(recovery))) }
    }

    /// Checks items of the probe. They count for the first address, as if it were in use.
    ///
    /// - Throws: The bound that the connection has exceeded, so that it must be ended.
    func check(probed items: [MediaItem], now: MediaTime) throws(SourceGate.Excess) {
        for item in items { _ = try gates.first.pass(item, now: now) }
    }

    /// Records that the first address has exceeded its bounds. Its next probe waits as a source without a backup does.
    func delayProbe(now: MediaTime) { probedAt = now + .milliseconds(SourceRetry.penalty) - Relay.probePause }

    /// Records a frame for the quality check.
    func noteQuality(_ frame: EncodedFrame, now: MediaTime) { quality?.took(frame, at: now) }

    /// Judges the stream that is being pulled.
    /// - Returns: Whether it has become poor or good.
    func judgeQuality() -> Bool { quality?.judge(expectsPictures: planned.video) ?? false }

    /// Description of the stream's quality fault; `nil` while it is good.
    var poor: String? { quality?.fault?.words }

    /// Whether the source's card is shown: its publisher shows nothing, or the stream is poor and has no backup.
    var isCardShown: Bool { isPaused || poor != nil && planned.backup == nil }

    /// Returns a description of why the address in use has failed; `nil` while it works, or if there is no other one.
    func failure(now: MediaTime) -> String? {
        guard planned.backup != nil, removedAt == nil else { return usesNothing ? "it has no backup any more" : nil }
        if let poor { return poor }
        guard retryAt == nil, let connectedAt else { return nil }
        // Pictures that are held back have come, too.
        guard let last = [timeline.lastArrival, keyframes.heldAt].compactMap(\.self).max(), last >= connectedAt else {
            return now - connectedAt > BackupChoice.beginning ? "it sends nothing" : nil
        }
        return now - last > BackupChoice.silence ? "it no longer sends anything" : nil
    }

    /// Whether a backup is in use that is no longer planned.
    private var usesNothing: Bool { choice.way == .backup && planned.backup == nil }

    /// Chooses the other address after a failure.
    func chooseOther(now: MediaTime) {
        choice.failed(at: now)
        quality = quality.map { QualityWatch($0.limits) }
        changes = changes.saturatingSum(1)
    }

    /// Whether the other address is connected to at once: after the first failure, and in place of a connection that brings
    /// nothing but has not ended. If both addresses fail, attempts become less frequent.
    var connectsAtOnce: Bool { failures <= 1 || retryAt == nil }

    /// Whether a change of the address is reported: the 1st, 2nd, 4th and so on.
    var isChangeNews: Bool { changes & (changes - 1) == 0 }
}
