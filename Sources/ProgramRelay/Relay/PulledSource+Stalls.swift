import EncodedMedia
import ProgramSplicer

/// Stalls of a source's tracks, as the program sees them.
extension PulledSource {
    /// Notes that a frame has arrived.
    func noteArrival(of track: Track, now: MediaTime) {
        let interval =
            switch track {
            case .video: timeline.frameInterval
            case .audio: audioInterval
            }
        stalls[track, default: StallWatch()].arrived(at: now, interval: interval)
    }

    /// Notes that frames were mapped by another amount than those before.
    func noteMovement(now: MediaTime) {
        for track in Track.allCases { stalls[track]?.moved(at: now) }
    }

    private var audioInterval: MediaTime {
        timeline.audioFormat.map { .units(Int64($0.samplesPerFrame), rate: $0.sampleRate) } ?? .milliseconds(21)
    }

    /// The track by which the source is judged: its pictures, if it has any.
    private var judged: StallWatch? { timeline.video == nil ? stalls[.audio] : stalls[.video] }

    /// Silence after which the source is reported as stalled: longer than the gaps with which it has lately sent.
    func silence(now: MediaTime) -> MediaTime {
        max(PulledSource.silence, judged?.patience(at: now) ?? .zero)
    }

    /// Whether a mix has to stand in for the source, or nothing has come yet.
    func hasStalled(now: MediaTime) -> Bool { judged.map { $0.last == nil || $0.hasStalled(at: now) } ?? true }

    /// Whether a mix may have to stand in soon.
    func isSuspect(now: MediaTime) -> Bool { judged?.isSuspect(at: now) ?? false }

    /// Whether the source may be copied, after its last stall.
    func isSteadyAgain(now: MediaTime) -> Bool { judged?.isSteady(at: now) ?? true }

    /// Time from which on the source is suspect or has stalled if nothing more comes; `nil` if it has.
    func nextStall(after now: MediaTime) -> MediaTime? { judged?.nextChange(after: now) }

    /// Tracks that have been there and have stalled.
    func stalledTracks(now: MediaTime) -> [Track] {
        Track.allCases.filter { stalls[$0]?.hasStalled(at: now) ?? false }
    }
}
