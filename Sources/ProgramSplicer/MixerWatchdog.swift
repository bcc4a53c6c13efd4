import EncodedMedia

/// Decides when a mixer without output counts as hung. Pure.
///
/// A process that is stopped or waits for a lock uses no processor time, and one that spins uses all it can get. A
/// mixer that is starved on a busy machine uses some, and is more useful than a new one. If mixers have failed before,
/// a working one gets more time: otherwise each one would be replaced before its first picture, and each start would
/// make the machine busier.
package struct MixerWatchdog: Sendable {
    /// Silence after which a mixer that does not run, or that spins, counts as hung.
    package static let silence = MediaTime.milliseconds(1000)
    /// Silence after which any other mixer counts as hung.
    package static let starving = MediaTime.milliseconds(3000)
    /// Longest wait for the first frame.
    package static let beginning = MediaTime.milliseconds(5000)
    /// Largest number of doublings of `starving` and `beginning`: 40 s for the first frame.
    static let mostDoublings = 3
    /// Silence after which the processor time is measured.
    static let suspicion = MediaTime.milliseconds(250)
    /// Shares of a core: below the first, a mixer does not run; above the second, it spins.
    static let idleShare = 0.02
    static let spinningShare = 0.8

    /// Factor on the limits for a working mixer.
    private let patience: Int64
    private var begun: MediaTime?
    private var lastFrame: MediaTime?
    /// Processor time in seconds, and the time of its first measurement since the last frame.
    private var mark: (cpuSeconds: Double, at: MediaTime)?
    /// Whether there was an excuse since the last frame.
    private var isExcused = false

    /// - Parameter failures: Number of the program's mixers that have failed in a row before this one.
    package init(failures: Int = 0) { patience = 1 << min(max(failures, 0), Self.mostDoublings) }

    /// Records that frames are due from now on; further calls have no effect.
    package mutating func begin(at now: MediaTime) { begun = begun ?? now }

    /// Records a frame.
    package mutating func delivered(at now: MediaTime) {
        lastFrame = now
        mark = nil
        isExcused = false
    }

    /// Records that the caller itself stood still, and may not have read what the mixer has delivered: the time does not
    /// count as silence. Only the first excuse after a frame counts, so that a caller who is always late notices a mixer
    /// that hangs as well.
    package mutating func excuse(_ standstill: MediaTime, at now: MediaTime) {
        guard (lastFrame ?? begun) != nil, !isExcused, standstill > .zero else { return }
        isExcused = true
        mark = nil
        begun = begun.map { min($0 + standstill, now) }
        lastFrame = lastFrame.map { min($0 + standstill, now) }
    }

    /// Returns whether the mixer's processor time is needed, which costs a read from the process's files.
    package func isSuspect(at now: MediaTime) -> Bool {
        (lastFrame ?? begun).map { now - $0 >= Self.suspicion } ?? false
    }

    /// Returns whether the mixer is hung.
    ///
    /// - Parameters:
    ///   - cpuSeconds: Processor time that the process has used so far; `nil` if it is not known.
    ///   - interval: Distance between two frames, which is added to the limit for a slow mix.
    package mutating func isHung(at now: MediaTime, cpuSeconds: Double?, interval: MediaTime = .zero) -> Bool {
        guard let since = lastFrame ?? begun else { return false }
        let silent = now - since - (interval > Self.suspicion ? interval : .zero)
        let (shortest, longest) =
            lastFrame == nil ? (Self.beginning, Self.beginning) : (Self.silence, Self.starving)
        guard silent < longest * patience else { return true }
        guard let cpuSeconds else { return false }
        guard let mark else {
            mark = (cpuSeconds, now)
            return false
        }
        let measured = (now - mark.at).inSeconds
        // A share of a shorter time says nothing: a process that has just woken has used nothing of it, or all.
        guard silent >= shortest, measured >= Self.suspicion.inSeconds else { return false }
        let share = (cpuSeconds - mark.cpuSeconds) / measured
        return share < Self.idleShare || share > Self.spinningShare && patience == 1
    }
}
