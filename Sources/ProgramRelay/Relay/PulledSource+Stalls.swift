import EncodedMedia
import MediaFormats
import ProgramSplicer

/// Stalls of a source's tracks, from the program's point of view.
extension PulledSource {
    /// Records that a frame has arrived.
    func noteArrival(of track: Track, now: MediaTime) {
        switch track {
        case .video:
            if stalls.video == nil { stalls.video = StallWatch() }
            stalls.video?.arrived(at: now, interval: timeline.frameInterval)
        case .audio:
            if stalls.audio == nil { stalls.audio = StallWatch() }
            stalls.audio?.arrived(at: now, interval: audioInterval)
        }
        // Without pictures, or if the program leaves them out, only sound can end a pause.
        if track == .video || timeline.video == nil { isPaused = false }
    }

    /// Records metadata that has arrived.
    func noteMetadata(_ body: [UInt8]) {
        if FLVMetadata.isPaused(body) { isPaused = true }
    }

    /// Records that frames were mapped by another offset than earlier ones.
    func noteMovement(now: MediaTime) {
        for track in Track.allCases { stalls[track]?.moved(at: now) }
    }

    /// Records that the relay itself stood still, and may not have read what the source has sent.
    func excuse(_ standstill: MediaTime, now: MediaTime) {
        for track in Track.allCases { stalls[track]?.excuse(standstill, at: now) }
    }

    private var audioInterval: MediaTime {
        timeline.audioFormat.map { .units(Int64($0.samplesPerFrame), rate: $0.sampleRate) } ?? .milliseconds(21)
    }

    /// The track by which the source is judged: its pictures, if it has any.
    var judged: StallWatch? { timeline.video == nil ? stalls.audio : stalls.video }

    /// Returns the silence after which the source is reported as stalled: longer than its recent gaps.
    func silence(now: MediaTime) -> MediaTime {
        max(PulledSource.silence, judged?.patience(at: now) ?? .zero)
    }

    /// Returns whether a mix must take over from the source, or nothing has arrived yet.
    func hasStalled(now: MediaTime) -> Bool {
        isPaused || (judged.map { $0.last == nil || $0.hasStalled(at: now) } ?? true)
    }

    /// Returns whether a mix may have to take over soon, or has to now.
    func isSuspect(now: MediaTime) -> Bool { isPaused || judged?.isSuspect(at: now) ?? false }

    /// Returns whether the source may be copied, after its last stall.
    func isSteadyAgain(now: MediaTime) -> Bool { judged?.isSteady(at: now) ?? true }

    /// Returns the time from which the source is suspect or stalled if nothing more arrives; `nil` if it already has
    /// stalled.
    func nextStall(after now: MediaTime) -> MediaTime? { judged?.nextChange(after: now) }

    /// Returns the tracks that have delivered and then stalled.
    func stalledTracks(now: MediaTime) -> [Track] { Track.allCases.filter { hasStalled($0, now: now) } }

    /// Returns whether a track has delivered and then stalled.
    func hasStalled(_ track: Track, now: MediaTime) -> Bool {
        stalls[track].map { isPaused || $0.hasStalled(at: now) } ?? false
    }
}
