import MixModel

/// The course of a session: what it becomes by what is seen of its room, and by calls. Pure.
///
/// Notices for webhooks are added to `outbox`; who owns the session gives the room back what it holds once it is stopping.
extension HMSSession {
    /// Reasons for an end, in 100ms' words.
    enum EndReason: String, Hashable, Sendable {
        case request = "client request"
        case duration = "max duration reached"
        case roomEnded = "room ended"
        case empty = "last peer left"
    }

    /// Time for which a page may be missing: the service may just have started, in seconds.
    static let pagePatience = 5.0
    /// Time after which an output that was told to end counts as ended, in seconds.
    static let longestStop = 15.0
    /// Time in which a recording that has stopped must have left a file, in seconds.
    static let filePatience = 20.0

    /// Takes note of what the room shows.
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
        case .postProcessing: finish(with: seen.files, at: now)
        case .completed, .failed: break
        }
    }

    /// Begins to end it. Nothing changes if it is ending.
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

    /// Whether files of it are expected once it has stopped.
    private var leavesFiles: Bool { recorder != nil || (hls?.keepsSegments == true && hls?.directory != nil) }

    // MARK: On air

    private mutating func note(_ seen: HMSObservation, _ now: Double) {
        if seen.isOpen { sights.open = true }
        if seen.hasPeople { sights.people = true }
        sights.emptySince = seen.hasPeople ? nil : sights.emptySince ?? now
        sights.pageGoneSince = seen.page == .gone ? sights.pageGoneSince ?? now : nil
    }

    /// Whether everything that was asked for is on air. What has failed for good is not waited for.
    private func isOnAir(_ seen: HMSObservation) -> Bool {
        guard seen.page == nil || seen.page == .working else { return false }
        let parts = seen.outputs + [seen.recording, seen.hls].compactMap(\.self)
        return parts.contains(.working) && !parts.contains(.waiting)
    }

    private func failure(of seen: HMSObservation, _ now: Double) -> Failure? {
        // Nobody looks at a session while it is being started, unless another run of the service was starting it.
        guard isComplete else { return Failure(kind: .internal, message: "the service ended while it was starting it") }
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
        // A page that has gone on air says itself that its meeting is over.
        if status == .running, isPageGone(now) { return .roomEnded }
        if limits.longest > 0, now - createdAt >= limits.longest { return .duration }
        if limits.empty > 0, sights.people, let since = sights.emptySince, now - since >= limits.empty { return .empty }
        return nil
    }

    // MARK: Afterwards

    private mutating func finish(with files: HMSFilesOnDisk?, at now: Double) {
        let waited = now - (stoppedAt ?? now)
        var found: [HMSFilesOnDisk.File] = []
        if recorder != nil {
            switch files {
            case nil, .beingWritten: return
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

    /// Most notices that wait. A session makes fewer.
    static let mostNotices = 8

    private mutating func tell(_ event: HMSNotice.Event, at now: Double) {
        guard outbox.count < Self.mostNotices else { return }
        outbox.append(HMSNotice(id: Self.newID(), event: event, at: now))
    }
}
