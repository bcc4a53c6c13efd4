import EncodedMedia

/// Decides when a mixer that delivers nothing counts as hung. Pure.
///
/// A process that is stopped or waits for a lock uses no processor time, and one that spins uses all it can get. A
/// mixer that gets too little of a busy machine uses some, and is worth more than one that has to be started anew.
package struct MixerWatchdog: Sendable {
    /// Silence after which a mixer that does not run, or that spins, is hung.
    package static let silence = MediaTime.milliseconds(1000)
    /// Silence after which any other mixer is hung.
    package static let starving = MediaTime.milliseconds(3000)
    /// Time for the first frame.
    package static let beginning = MediaTime.milliseconds(5000)
    /// Silence from which on the processor time is measured.
    static let suspicion = MediaTime.milliseconds(250)
    /// Shares of a core: below the first a mixer does not run, above the second it spins.
    static let idleShare = 0.02
    static let spinningShare = 0.8

    private var begun: MediaTime?
    private var lastFrame: MediaTime?
    /// Processor time in seconds, and the time at which it was measured first since the last frame.
    private var mark: (cpuSeconds: Double, at: MediaTime)?

    package init() {}

    /// Notes that frames are due from now on; further calls have no effect.
    package mutating func begin(at now: MediaTime) { begun = begun ?? now }

    /// Notes a frame.
    package mutating func delivered(at now: MediaTime) {
        lastFrame = now
        mark = nil
    }

    /// Whether the mixer's processor time is of interest, which costs a look at the process.
    package func isSuspect(at now: MediaTime) -> Bool {
        (lastFrame ?? begun).map { now - $0 >= Self.suspicion } ?? false
    }

    /// Whether the mixer is hung.
    ///
    /// - Parameters:
    ///   - cpuSeconds: Processor time that the process has used so far; `nil` if it is not known.
    ///   - interval: Distance between two frames, which a slow mix is granted on top.
    package mutating func isHung(at now: MediaTime, cpuSeconds: Double?, interval: MediaTime = .zero) -> Bool {
        guard let begun else { return false }
        guard let lastFrame else { return now - begun >= Self.beginning }
        let silent = now - lastFrame - (interval > Self.suspicion ? interval : .zero)
        guard silent < Self.starving else { return true }
        guard let cpuSeconds else { return false }
        guard let mark else {
            mark = (cpuSeconds, now)
            return false
        }
        let measured = (now - mark.at).inSeconds
        guard silent >= Self.silence, measured > 0 else { return false }
        let share = (cpuSeconds - mark.cpuSeconds) / measured
        return share < Self.idleShare || share > Self.spinningShare
    }
}
