import EncodedMedia

/// Decides when a failed mixer is restarted, and for how long a program waits for one. Pure.
package struct MixerRecovery: Sendable {
    /// Time without a frame from any mixer after which a program that shows a mix continues with a participant's own
    /// packets, if possible. Longer than it takes to replace a mixer that was stopped (`MixerWatchdog.silence`).
    package static let patience = MediaTime.milliseconds(1500)

    /// Failures in a row.
    package private(set) var failures = 0
    /// Earliest time at which a mixer may be started.
    package private(set) var retryAt = MediaTime.zero
    /// Arrival of the last frame with which the program could continue.
    private var lastFrame: MediaTime?
    /// Whether there was an excuse since that frame.
    private var isExcused = false

    package init() {}

    /// Records a failure, and sets the time of the next start: at once after the first one, then after 0.5, 1, 2, 4 and
    /// at most 5 s.
    package mutating func failed(at now: MediaTime) {
        failures = failures.saturatingSum(1)
        retryAt = now + Self.pause(afterFailures: failures)
    }

    /// Records that a mixer has worked for so long that the next failure counts as the first.
    package mutating func recovered() { failures = 0 }

    /// Records a frame of a mixer that is on air or may take over, whether or not viewers get it. Audio does not count
    /// for a program with video, because the picture may be frozen.
    ///
    /// - Parameter hasVideo: Whether the program has pictures.
    package mutating func delivered(_ track: Track, hasVideo: Bool, at now: MediaTime) {
        guard track == .video || !hasVideo else { return }
        lastFrame = now
        isExcused = false
    }

    /// Records that the caller itself stood still: the time does not count as silence. Only the first excuse after a
    /// frame counts.
    package mutating func excuse(_ standstill: MediaTime, at now: MediaTime) {
        guard let lastFrame, !isExcused, standstill > .zero else { return }
        isExcused = true
        self.lastFrame = min(lastFrame + standstill, now)
    }

    /// Returns whether mixers have failed and the next one has not been started yet.
    package func isHeldBack(at now: MediaTime) -> Bool { failures > 1 && now < retryAt }

    /// Returns whether no mixer has delivered anything for so long that a program that shows a mix stops waiting.
    ///
    /// - Parameters:
    ///   - interval: Distance between two pictures of the mix.
    ///   - isSlateRepeated: Whether the program repeats a slate, for which no mixer is needed.
    package func isSilent(at now: MediaTime, interval: MediaTime, isSlateRepeated: Bool) -> Bool {
        guard !isSlateRepeated else { return false }
        return lastFrame.map { now - $0 >= Self.patience + interval } ?? false
    }

    /// Longest delay before a mixer is restarted. Meanwhile viewers see the host alone, or a frozen picture if the room
    /// is empty. It limits the load of mixers that always end at once to 12 starts a minute.
    private static let longestPause = 5.0

    /// Returns the delay before a mixer is restarted after this number of failures in a row.
    package static func pause(afterFailures count: Int) -> MediaTime {
        count <= 1 ? .zero : .seconds(min(0.5 * Double(1 << min(count - 2, 6)), longestPause))
    }
}
