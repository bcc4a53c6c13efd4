import EncodedMedia
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer

/// A planned source, with its connection and its timeline. Belongs to its relay.
///
/// A class, because packets change it in place many times a second.
final class PulledSource {
    var planned: PlannedSource
    var timeline = SourceTimeline()
    /// Number of the connection. Distinguishes late items of an old one.
    private(set) var attempt = 0
    private var lastAttempt = 0
    /// The choice between its two addresses.
    var choice = BackupChoice(recovery: .seconds(Double(QualityLimits.usualRecovery)))
    /// Judges the stream; `nil` if the plan has no limits.
    var quality: QualityWatch?
    var probe: SourceProbe?
    /// Program time of the last attempt to reach the first address while the backup is in use, or later if the next one
    /// has to wait.
    var probedAt = MediaTime.zero
    /// Number of changes of the address since the first one was in use undisturbed.
    var changes = 0
    private(set) var failures = 0
    /// The kind of the last failure, and the number of consecutive failures of this kind.
    private var repeated: (kind: PullEnd.Kind, count: Int)?
    /// Whether the source has ever delivered media for `trial`.
    private var wasLive = false
    /// Description of the source's failure for operators; `nil` while there is none.
    private(set) var error: String?
    /// Program time of the next attempt; `nil` while connected.
    private(set) var retryAt: MediaTime?
    /// Program time at which the first keyframe of this connection arrived.
    private(set) var firstKeyframeAt: MediaTime?
    /// The connection's items that the relay has not handled yet.
    var backlog: Backlog?
    /// Program time at which the source left the plan. It is pulled until it is off air.
    var removedAt: MediaTime?
    /// Time without a packet after which a source that has delivered media loses its place in the picture.
    var dropAfter = MediaTime.milliseconds(Pane.usualDropAfter)

    private var pull: (any SourcePull)?
    /// Arrivals of each track, across connections.
    var stalls = PerTrack<StallWatch>()
    /// Whether the relay has handled media of this connection.
    var hasDelivered = false
    /// Whether the publisher has said on this connection that it shows nothing until its next picture.
    var isPaused = false
    /// Number of new timelines so far.
    private(set) var steps = 0
    /// The gate of each address.
    var gates = (first: SourceGate(), backup: SourceGate())
    /// Whether the program may have pictures of this stream from another address.
    private var followsOther = false
    private(set) var keyframes = KeyframeGate()
    private var entry = OpenGroupEntry()
    private var parameterSets = InBandParameterSets()
    private var isUnsupported = false
    /// Whether the source is not connected because it may have crashed relays.
    private var isQuarantined = false
    /// Program time at which the source was planned.
    private let plannedAt: MediaTime
    /// Program time at which this connection began. `firstFrameAt`: at which its first frame arrived.
    private(set) var connectedAt: MediaTime?
    private var firstFrameAt: MediaTime?
    /// Program time of the last request for a keyframe on this connection.
    private var askedAt: MediaTime?
    /// Errors that were reported since the source last worked.
    private var reportedErrors: [String] = []

    /// Silence after which a source is reported as stalled, unless its pictures usually have longer gaps. The program
    /// reacts earlier: see `StallWatch`. Demuxers and buffers delay media by up to 0.2 s, so the last sent picture is
    /// at most a second old.
    static let silence = MediaTime.milliseconds(700)
    /// Silence up to which no deadline of a source is near.
    static let steadiness = MediaTime.milliseconds(250)
    /// Time without media after which a connection is reported. Longer than a server may take to respond.
    static let patience = MediaTime.seconds(6)
    /// Time without any media after which a source is removed from the picture. Shorter than the time after which a mix
    /// would show an empty pane.
    static let absence = MediaTime.milliseconds(2500)
    /// Time with frames after which a connection counts as good, because an unsupported track may come late.
    static let trial = MediaTime.seconds(1)
    /// Largest number of reported errors, so that a flapping source does not fill the timeline.
    private static let mostReported = 8

    /// Shortest time between two requests for a keyframe; an encoder may need that long for one.
    static let keyframePause = MediaTime.milliseconds(500)

    init(planned: PlannedSource, now: MediaTime) {
        self.planned = planned
        plannedAt = now
    }

    /// Creates the source for the same stream at another address. It starts over; late items of the old connection can
    /// be recognised.
    init(planned: PlannedSource, replacing old: PulledSource, now: MediaTime) {
        self.planned = planned
        plannedAt = now
        attempt = old.attempt
        lastAttempt = old.lastAttempt
        followsOther = old.hasPictures(at: now)
    }

    /// Returns a number that no other connection has.
    func newAttempt() -> Int {
        lastAttempt += 1
        return lastAttempt
    }

    /// Replaces the connection to the backup by the one to the first address. The caller must close the returned one.
    func adoptProbe(now: MediaTime) -> (any SourcePull)? {
        guard let probe else { return nil }
        let old = pull
        choice.returned(at: now)
        connected(probe.pull, now: now)
        (attempt, backlog) = (probe.attempt, probe.backlog)
        self.probe = nil
        quality = quality.map { QualityWatch($0.limits) }
        changes = 0
        return old
    }

    /// Returns whether the program may have pictures of the source.
    private func hasPictures(at now: MediaTime) -> Bool {
        followsOther || timeline.video != nil && timeline.isDecodable(at: now)
    }

    /// Sets a new connection. The previous one must have been removed with `disconnect()`.
    func connected(_ pull: any SourcePull, now: MediaTime) {
        retryAt = nil
        askedAt = nil
        firstKeyframeAt = nil
        firstFrameAt = nil
        connectedAt = now
        isQuarantined = false
        // A server that is in a pause says so again.
        (isPaused, hasDelivered) = (false, false)
        switch choice.way {
        case .first: gates.first.reconnected()
        case .backup: gates.backup.reconnected()
        }
        keyframes = KeyframeGate(isClosed: hasPictures(at: now))
        entry = OpenGroupEntry()
        parameterSets = InBandParameterSets()
        self.pull = pull
    }

    /// Removes the connection, which the caller must close. Its late items are ignored from now on.
    func disconnect() -> (any SourcePull)? {
        attempt = newAttempt()
        defer { pull = nil }
        return pull
    }

    /// Records that the source may not be connected yet.
    func hold(_ admission: SourceQuarantine.Admission) {
        switch admission {
        case .now: break
        case .afterOthers(let time): retryAt = time
        case .quarantined(let time, let seconds, let crashes):
            retryAt = time
            isQuarantined = true
            error =
                "the relay crashed \(crashes) times in a row while it pulled this source, which is left out for "
                + "\(seconds) s"
        }
    }

    /// Records the items that arrived, and returns those of the planned tracks, within the bounds of `SourceGate`.
    ///
    /// - Throws: The bound that the connection has exceeded, so that it must be ended.
    func take(_ arrived: [MediaItem], now: MediaTime) throws(SourceGate.Excess) -> [MediaItem] {
        var items: [MediaItem] = []
        items.reserveCapacity(arrived.count)
        for item in arrived where !parameterSets.supersedes(item) {
            if let configuration = parameterSets.configuration(before: item) {
                if let passed = try pass(.configuration(configuration), now: now) { items.append(passed) }
            }
            if let passed = try pass(item, now: now) { items.append(passed) }
        }
        if firstFrameAt == nil, keyframes.isHolding || items.contains(where: \.isFrame) { firstFrameAt = now }
        if let firstFrameAt, now - firstFrameAt >= PulledSource.trial {
            failures = 0
            repeated = nil
            wasLive = true
            error = nil
            isUnsupported = false
        }
        if firstKeyframeAt == nil, items.contains(where: \.isIDR) { firstKeyframeAt = now }
        return items
    }

    /// Returns the item to forward; `nil` if it is dropped.
    private func pass(_ item: MediaItem, now: MediaTime) throws(SourceGate.Excess) -> MediaItem? {
        let passed =
            try choice.way == .first ? gates.first.pass(item, now: now) : gates.backup.pass(item, now: now)
        guard planned.takesEverything || planned.takes(item.track), keyframes.admits(passed, now: now) else {
            return nil
        }
        return entry.pass(passed)
    }

    /// Number of frames of this connection whose presentation time was out of bounds.
    var correctedFrames: Int { choice.way == .first ? gates.first.corrected : gates.backup.corrected }

    /// Whether `requestKeyframe` reaches the sender.
    var takesKeyframeRequests: Bool { pull?.takesKeyframeRequests ?? false }

    /// Asks the sender for a keyframe, unless that was done within `pause`, or no video is expected.
    ///
    /// - Returns: The program time of the last request if it was within `pause`; otherwise `nil`.
    @discardableResult func requestKeyframe(
        now: MediaTime, pause: MediaTime = PulledSource.keyframePause
    ) -> MediaTime? {
        guard let pull, pull.takesKeyframeRequests, planned.video, planned.takes(.video) else { return nil }
        if let askedAt, now - askedAt < pause { return askedAt }
        askedAt = now
        pull.requestKeyframe()
        return nil
    }

    /// Records that the connection has ended or could not be established, and schedules the next attempt
    /// (`SourceRetry`).
    func ended(_ reason: PullEnd, now: MediaTime) {
        if reason.kind == .unsupportedCodec { isUnsupported = true }
        // A server without a publisher for the stream, or bytes that are not a stream, end without a specific error.
        let end = reason.kind == .ended && firstFrameAt == nil ? PullEnd.noMedia : reason
        failures += 1
        error = end.words
        let kind = isUnsupported ? .unsupportedCodec : end.kind
        let repeats = repeated.map { $0.kind == kind ? $0.count.saturatingSum(1) : 1 } ?? 1
        repeated = (kind, repeats)
        // Media of an earlier connection does not count.
        let last = [connectedAt, timeline.lastArrival].compactMap(\.self).max() ?? now
        retryAt =
            now
            + SourceRetry.pause(
                after: kind, failures: failures, repeats: repeats, wasLive: wasLive, idle: now - last, of: planned.id)
    }

    /// Returns whether it is time to reconnect.
    func isDue(now: MediaTime) -> Bool { retryAt.map { now >= $0 } ?? false }

    /// Returns whether the source is planned, connected and delivering, so that none of its deadlines is near.
    func isSteady(now: MediaTime) -> Bool {
        removedAt == nil && retryAt == nil && lastOfTrack.map { now - $0 < PulledSource.steadiness } ?? false
    }

    func isSilent(now: MediaTime) -> Bool {
        lastOfTrack.map { now - $0 > silence(now: now) } ?? true
    }

    /// Returns the time from which the source is silent if nothing more arrives; `nil` if it already is.
    func silentAt(now: MediaTime) -> MediaTime? {
        lastOfTrack.map { $0 + silence(now: now) + .milliseconds(1) }.flatMap { $0 > now ? $0 : nil }
    }

    /// Time of the last frame of the track by which the source is judged, or later if the relay stood still after it.
    private var lastOfTrack: MediaTime? {
        (timeline.video == nil ? timeline.lastAudio : timeline.lastVideo).map { max($0, judged?.last ?? $0) }
    }

    /// Returns whether the source delivers pictures, so that a program may wait for its keyframe.
    func isAwaited(now: MediaTime) -> Bool { planned.video && timeline.video != nil && !isSilent(now: now) }

    /// Counts a new timeline.
    ///
    /// - Returns: Whether it is reported: the 1st, 2nd, 4th, 8th and so on, so that no source fills the log.
    func countsAsNews() -> Bool {
        steps = steps.saturatingSum(1)
        return steps & (steps - 1) == 0
    }

    /// Returns whether the source has nothing to show, for reasons other than having just begun.
    func isAbsent(now: MediaTime) -> Bool {
        guard !isUnsupported, !isQuarantined else { return true }
        guard let last = timeline.lastArrival else { return now - plannedAt > PulledSource.absence }
        return now - max(last, judged?.last ?? last) > dropAfter
    }

    func fact(now: MediaTime) -> ProgramDirector.SourceFact {
        ProgramDirector.SourceFact(
            isDecodable: timeline.isDecodable(at: now, expectsVideo: planned.video) && !isUnsupported,
            isSilent: hasStalled(now: now) || isCardShown,
            hasVideo: timeline.video != nil, isConnected: timeline.video != nil || timeline.audio != nil,
            isSettled: timeline.clock.isSettled(at: now), isSuspect: isSuspect(now: now),
            isSteady: isSteadyAgain(now: now) && !isCardShown,
            hasKeyframe: timeline.video == nil || timeline.hasKeyframe)
    }

    /// Returns the state for operators.
    func state(now: MediaTime) -> SourceStatus.State {
        if isUnsupported || isQuarantined {
            .failed
        } else if retryAt != nil {
            .recovering
        } else if timeline.lastArrival == nil {
            .connecting
        } else {
            isStalled(now: now) ? .stalled : .live
        }
    }

    func status(now: MediaTime) -> SourceStatus {
        let state = state(now: now)
        let isOverdue =
            state == .connecting && firstFrameAt == nil && connectedAt.map { now - $0 > PulledSource.patience } ?? false
        return SourceStatus(
            id: planned.id, state: state, error: error ?? (isOverdue ? PullEnd.noMedia.words : nil),
            isAbsent: isAbsent(now: now), pictureSize: timeline.pictureSize,
            frameRate: timeline.video == nil ? nil : 1 / timeline.frameInterval.inSeconds,
            secondsWithoutKeyframe: timeline.withoutKeyframe(at: now)?.inSeconds,
            refreshesGradually: timeline.refreshesGradually ? true : nil, poor: poor,
            usesBackup: usesBackup ? true : nil, transcoded: transcoded)
    }

    /// Whether the connection would deliver other pictures if the program carried other codecs.
    var dependsOnCarriedCodecs: Bool {
        timeline.video?.videoCodec == .h265 || pull?.transcoded.contains(.video) ?? false
    }

    /// Tracks that this connection transcodes; `nil` if none.
    private var transcoded: TrackSelection? {
        guard let tracks = pull?.transcoded, let one = tracks.first else { return nil }
        return tracks.count > 1 ? .all : one == .video ? .video : .audio
    }

    /// Returns whether the source counts as stalled for operators. While the camera is off, only audio is expected.
    private func isStalled(now: MediaTime) -> Bool {
        guard isSilent(now: now) else { return false }
        return planned.video || timeline.lastAudio.map { now - $0 > PulledSource.silence } ?? true
    }

    /// Returns a message that operators have not received yet: a new error, or that the source works again.
    func news(now: MediaTime) -> (code: String, message: String)? {
        let status = status(now: now)
        if let error = status.error {
            guard !reportedErrors.contains(error), reportedErrors.count < PulledSource.mostReported else { return nil }
            reportedErrors.append(error)
            return (isQuarantined ? "source-quarantined" : "source-\(status.state)", "\(status.id): \(error)")
        }
        guard status.state == .live, !reportedErrors.isEmpty else { return nil }
        reportedErrors = []
        return ("source-live", "\(status.id) is live")
    }
}
