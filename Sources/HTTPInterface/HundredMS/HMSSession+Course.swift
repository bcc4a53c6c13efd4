import MixModel

/// The course of a session: its changes as a result of observations of its room and of calls. Pure.
///
/// Notices for webhooks are added to `outbox`; the owner of the session gives back its resources in the room once it is
/// stopping.
extension HMSSession {
    /// Reasons for an end, in 100ms' words.
    enum EndReason: String, Hashable, Sendable {
        case request = "client request"
        case duration = "max duration reached"
        case roomEnded = "room ended"
        case empty = "last peer left"
    }

    /// Time in seconds for which a page may be missing, because the service may just have started.
    static let pagePatience = 5.0
    /// Time after which an output that was told to end counts as ended, in seconds.
    static let longestStop = 15.0
    /// Time in which a recording that has stopped must have left a file, in seconds.
    static let filePatience = 20.0
    /// Time for which a session waits for the file of a recording that another interface had begun, and that goes on
    /// without it, in seconds.
    static let sharedPatience = 3600.0

    /// Records an observation of the room.
    ///
    /// - Parameter now: Seconds since 1970.
    mutating func observe(_ seen: HMSObservation, at now: Double, within limits: Limits) {
        if let directory = seen.hlsDirectory, status.isLive { hls?.directory = directory }
        switch status {
        case .starting, .running:
            note(seen, now)
            if let failure = failure(of: seen, now) {
                fail(failure, at: now)
            } else if let reason = reason(toEnd: seen, now, limits) {
                stop(reason, at: now)
            } else if status == .starting, isOnAir(seen) {
                status = .running
                startedAt = now
                updatedAt = now
                tell(.started, at: now)
            }
        case .stopping:
            guard !holdsRoom, !seen.isStillSent || now - (stoppedAt ?? now) > Self.longestStop else { return }
            tell(.stopped, at: now)
            advance(to: leavesFiles ? .postProcessing : isFailed, at: now)
        case .postProcessing: finish(seen, at: now)
        case .completed, .failed: break
        }
    }

    /// Begins to end the session. Does nothing if it is already ending.
    mutating func stop(_ reason: EndReason, at now: Double) {
        guard status.isLive else { return }
        self.reason = reason.rawValue
        stoppedAt = now
        advance(to: .stopping, at: now)
    }

    private mutating func fail(_ failure: Failure, at now: Double) {
        self.failure = failure
        reason = "failure: \(failure.kind.rawValue)"
        stoppedAt = now
        advance(to: .stopping, at: now)
        tell(.failed, at: now)
    }

    private mutating func advance(to next: Status, at now: Double) {
        status = next
        updatedAt = now
    }

    private var isFailed: Status { failure == nil ? .completed : .failed }

    /// Whether it is expected to leave files once it has stopped.
    private var leavesFiles: Bool { recorder != nil || (hls?.keepsSegments == true && hls?.directory != nil) }

    // MARK: On air

    private mutating func note(_ seen: HMSObservation, _ now: Double) {
        if seen.isOpen { sights.open = true }
        if seen.hasPeople { sights.people = true }
        sights.emptySince = seen.hasPeople ? nil : sights.emptySince ?? now
        sights.pageGoneSince = seen.page == .gone ? sights.pageGoneSince ?? now : nil
    }

    /// Returns whether everything requested is on air. Parts that have failed for good are not waited for.
    private func isOnAir(_ seen: HMSObservation) -> Bool {
        guard seen.page == nil || seen.page == .working else { return false }
        let parts = seen.outputs + [seen.recording, seen.hls].compactMap(\.self)
        return parts.contains(.working) && !parts.contains(.waiting)
    }

    private func failure(of seen: HMSObservation, _ now: Double) -> Failure? {
        // A session is not observed while it is being started: an earlier run of the service ended meanwhile, or its
        // start failed and left something in the room.
        guard isComplete else { return Failure(kind: .internal, message: "the service could not start it completely") }
        if status == .starting, isPageGone(now) {
            return Failure(kind: .internal, message: "the page was not ready in time, or ended")
        }
        let parts = seen.outputs + [seen.recording, seen.hls].compactMap(\.self)
        guard !parts.isEmpty else { return nil }
        var first: String?
        for part in parts {
            guard case .failed(let message) = part else { return nil }
            first = first ?? message
        }
        return Failure(kind: outputs.isEmpty ? .upload : .retries, message: first ?? "")
    }

    private func isPageGone(_ now: Double) -> Bool {
        sights.pageGoneSince.map { now - $0 >= Self.pagePatience } ?? false
    }

    private func reason(toEnd seen: HMSObservation, _ now: Double, _ limits: Limits) -> EndReason? {
        if sights.open, !seen.isOpen { return .roomEnded }
        // A page that has been on air itself reports the end of its meeting.
        if status == .running, isPageGone(now) { return .roomEnded }
        if limits.longest > 0, now - createdAt >= limits.longest { return .duration }
        if limits.empty > 0, sights.people, let since = sights.emptySince, now - since >= limits.empty { return .empty }
        return nil
    }

    // MARK: Afterwards

    private mutating func finish(_ seen: HMSObservation, at now: Double) {
        let waited = now - (stoppedAt ?? now)
        var found: [HMSFilesOnDisk.File] = []
        if let recorder {
            switch seen.files {
            case nil, .beingWritten:
                // A room that is recorded all the time never closes the file.
                let isOthers = seen.isRecordingWanted && !recorder.isOwn
                guard isOthers, waited > Self.sharedPatience else { return }
            case .closed(let closed):
                guard !closed.isEmpty || waited > Self.filePatience else { return }
                found = closed
            }
        }
        assets = found.map { file in
            HMSAsset(
                id: Self.newID(), kind: .composite, file: file.name, size: file.size, duration: file.duration,
                createdAt: now)
        }
        if let hls, hls.keepsSegments, let directory = hls.directory {
            assets.append(
                HMSAsset(id: Self.newID(), kind: .onDemand, file: directory, duration: duration, createdAt: now))
        }
        if !assets.isEmpty { tell(.recorded, at: now) }
        advance(to: isFailed, at: now)
    }

    /// Largest number of waiting notices. A session makes fewer.
    static let mostNotices = 8

    private mutating func tell(_ event: HMSNotice.Event, at now: Double) {
        guard outbox.count < Self.mostNotices else { return }
        outbox.append(HMSNotice(id: Self.newID(), event: event, at: now))
    }
}
