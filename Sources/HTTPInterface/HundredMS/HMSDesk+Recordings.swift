import EncodedMedia
import Logging
import MediaFormats
import MixModel
import RoomService

/// Pauses of recordings, and texts for the players of live streams.
extension HMSDesk {
    /// Pauses or resumes the recording of a session. A session that is already in the requested state is returned
    /// unchanged.
    ///
    /// - Returns: `nil` if the app has no session with this id.
    func setPaused(
        _ isPaused: Bool, _ id: String, _ kind: HMSSession.Kind, of app: AppID
    ) async throws -> HMSSession? {
        guard let known = find(id, kind, of: app) else { return nil }
        return try await lanes.pass(known.room) { () -> HMSSession? in try await setPausedInLane(isPaused, id) }
    }

    /// Pauses or resumes the newest running recording of a room.
    ///
    /// - Returns: `nil` if there is none.
    func setPaused(_ isPaused: Bool, recordingIn room: RoomID) async throws -> HMSSession? {
        try await lanes.pass(room) { () -> HMSSession? in
            let found = book.present(in: room).first { $0.kind == .recording && $0.status.isLive }
            guard let found else { return nil }
            return try await setPausedInLane(isPaused, found.id)
        }
    }

    private func setPausedInLane(_ isPaused: Bool, _ id: String) async throws -> HMSSession? {
        guard let session = book[id] else { return nil }
        guard session.status == .running else {
            throw HMSFault(
                .badRequest, "the recording is not running",
                ["its status is \(session.status.rawValue): only a running one is paused and resumed"])
        }
        guard session.isPaused != isPaused else { return session }
        if isPaused { try await pause(session) } else { try await resume(session) }
        logger.info("100ms: the recording of \(session.kind.rawValue) \(id) is \(isPaused ? "paused" : "resumed")")
        return book[id]
    }

    private func pause(_ session: HMSSession) async throws {
        var paused = session
        try checkPause(session)
        if let recorder = session.recorder {
            let settings = try await registry.snapshot(session.room)?.room.document.settings.recording
            guard var held = settings, held.id == recorder.id else {
                throw HMSFault(
                    .badRequest, "the recording has ended", ["it was stopped elsewhere: start another one"])
            }
            held.leavesOutGaps = true
            paused.recorder?.held = held
        }
        if session.hls?.keepsSegments == true { paused.hls?.isPaused = true }
        // Before the room is changed, so that it can be resumed after a crash.
        try await put(paused)
        do {
            try await mark(session, isPaused: true)
            guard let id = session.recorder?.id else { return }
            try await configure(session, "paused") { current in
                if current.recording?.id == id { current.recording = nil }
            }
        } catch {
            await keep(session)
            try? await mark(session, isPaused: false)
            throw error
        }
    }

    private func resume(_ session: HMSSession) async throws {
        var resumed = session
        if let held = session.recorder?.held {
            try await configure(session, "resumed") { current throws(OrchestratorError) in
                guard current.recording == nil || current.recording?.id == held.id else {
                    throw OrchestratorError(
                        .conflict, "recording-taken", "Another recording of the room is running",
                        detail: "another recording was started during the pause: stop that first")
                }
                current.recording = current.recording ?? held
            }
            resumed.recorder?.held = nil
        }
        try await mark(session, isPaused: false)
        resumed.hls?.isPaused = nil
        await keep(resumed)
    }

    /// Checks that the session does not share the recording that it pauses.
    private func checkPause(_ session: HMSSession) throws(HMSFault) {
        let isKept = session.hls?.keepsSegments == true
        guard session.recorder != nil || isKept else {
            throw HMSFault(
                .badRequest, "nothing is recorded", ["start it with recording: {\"hls_vod\": true} to have one"])
        }
        let others = book.present(in: session.room).filter { other in
            other.id != session.id
                && (session.recorder.map { $0.id == other.recorder?.id } == true
                    || isKept && other.hls?.keepsSegments == true)
        }
        if let other = others.first {
            throw HMSFault(
                .badRequest, "the recording is not only this stream's",
                ["\(other.kind.rawValue) \(other.id) is recorded in the same file, which would miss the pause, too"])
        }
        guard session.recorder?.isOwn != false, !isKept || session.hls?.isOwn == true else {
            throw HMSFault(
                .badRequest, "the recording is not only this stream's",
                ["another interface has begun it, and goes on with it: PUT and DELETE /v1/rooms/{room}/recording"])
        }
    }

    private func configure(
        _ session: HMSSession, _ what: String,
        _ body: @escaping @Sendable (inout RoomSettings) throws(OrchestratorError) -> Void
    ) async throws {
        let change = SettingsChange(
            summary: "recording of \(session.kind.rawValue) \(session.id) \(what) over 100ms' interface"
        ) { current, _ throws(OrchestratorError) in
            var changed = current
            try body(&changed)
            return changed
        }
        _ = try await registry.owner(session.room).configure(change, at: MonotonicClock.now())
    }

    /// Begins or ends a pause in the segments that a session keeps, if it keeps any.
    private func mark(_ session: HMSSession, isPaused: Bool) async throws {
        guard session.hls?.keepsSegments == true, let directory = hlsDirectory(of: session) else { return }
        let now = Int64(saturating: (wallClock() * 1000).rounded())
        let isDone = try await offPool { () throws(OrchestratorError) -> Bool in
            try HLSMarks.change(directory) { marks in
                if isPaused { return marks.pause(at: now) }
                marks.resume(at: now)
                return true
            }
        }
        guard isDone else {
            throw HMSFault(.badRequest, "the recording was paused too often", ["stop it, and start another one"])
        }
    }

    private func hlsDirectory(of session: HMSSession) -> String? {
        session.hls?.directory.map { "\(hls.directory(of: session.room))/\($0)" }
    }

    // MARK: Texts for players

    /// Sends a text to the players of a live stream, which show it when they reach this moment of the program.
    ///
    /// - Returns: `nil` if the app has no live stream with this id.
    func announce(_ cue: HMSCue, to id: String, of app: AppID) async throws -> HMSSession? {
        guard let known = find(id, .liveStream, of: app) else { return nil }
        return try await lanes.pass(known.room) { () -> HMSSession? in
            guard let session = book[id] else { return nil }
            guard session.status == .running, let directory = hlsDirectory(of: session) else {
                throw HMSFault(
                    .badRequest, "the live stream is not running",
                    ["its status is \(session.status.rawValue): texts are sent to the players of a running one"])
            }
            guard let range = cue.range(id: HMSSession.newID(), at: wallClock()) else {
                throw HMSFault.invalid("payload", "a text for playlists")
            }
            try await offPool { () throws(OrchestratorError) in try HLSMarks.change(directory) { $0.add(range) } }
            return session
        }
    }
}
