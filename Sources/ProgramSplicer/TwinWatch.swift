import EncodedMedia

/// Decides when a mixer on air counts as late, so that its twin may make the next picture. Pure.
///
/// A wrong suspicion costs viewers nothing: if the twin's picture comes first, the two swap roles at that point;
/// otherwise nothing happens. If their sources have stalled, neither makes a picture.
package struct TwinWatch: Sendable {
    /// Silence of the mixer on air after which it is late, at least two and a half frame intervals.
    package static let patience = MediaTime.milliseconds(100)

    private var onAirAt: MediaTime?
    /// Whether the mixer on air has been late since its last picture.
    package private(set) var isSuspicious = false

    package init() {}

    /// Records a picture of the mixer on air.
    package mutating func noteOnAir(at now: MediaTime) {
        onAirAt = now
        isSuspicious = false
    }

    /// Returns whether the mixer on air is late, once after each of its pictures.
    ///
    /// - Parameter interval: Distance between two pictures.
    package mutating func suspects(interval: MediaTime, now: MediaTime) -> Bool {
        guard !isSuspicious, let onAirAt, now - onAirAt >= max(Self.patience, interval * 5 / 2) else { return false }
        isSuspicious = true
        return true
    }

    /// Returns whether the twin takes over with this frame of its own. The mixer on air has to be late, and on air.
    ///
    /// - Parameters:
    ///   - last: Time of the program's last picture.
    ///   - interval: Distance between two pictures.
    ///   - isAimedElsewhere: Whether the program is about to leave the mix.
    ///   - isMixerSilent: Whether the reason is that no mixer has delivered for long. The twin is then faster than the
    ///     feed for which the program waits.
    package func takesOver(
        with frame: EncodedFrame, after last: MediaTime?, interval: MediaTime, isAimedElsewhere: Bool,
        isMixerSilent: Bool
    ) -> Bool {
        guard isSuspicious, frame.track == .video, frame.isIDR, let last else { return false }
        return frame.pts > last + interval / 2 && (!isAimedElsewhere || isMixerSilent)
    }
}
