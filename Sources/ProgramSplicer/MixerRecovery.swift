import EncodedMedia

/// Decides when a mixer that has failed is started again, and for how long a program waits for one. Pure.
package struct MixerRecovery: Sendable {
    /// Time without a frame of any mixer after which a program that shows a mix goes on with a participant's own
    /// packets, if it can. Longer than it takes to replace a mixer that was stopped (`MixerWatchdog.silence`).
    package static let patience = MediaTime.milliseconds(1500)

    /// Failures in a row.
    package private(set) var failures = 0
    /// Time from which on a mixer may be started.
    package private(set) var retryAt = MediaTime.zero
    /// Arrival of the last frame with which the program could go on.
    private var lastFrame: MediaTime?

    package init() {}

    /// Notes a failure, and sets the time of the next start: at once after the first one, then after 0.5, 1, 2, 4 and at most 5 s.
    package mutating func failed(at now: MediaTime) {
        failures = failures.saturatingSum(1)
        retryAt = now + Self.pause(afterFailures: failures)
    }

    /// Notes that a mixer has worked for so long that the next failure counts as the first.
    package mutating func recovered() { failures = 0 }

    /// Notes a frame of a mixer that is on air or may take over, whether or not viewers get it. Sound does not move a picture
    /// that stands still.
    ///
    /// - Parameter hasVideo: Whether the program has pictures.
    package mutating func delivered(_ track: Track, hasVideo: Bool, at now: MediaTime) {
        if track == .video || !hasVideo { lastFrame = now }
    }

    /// Whether mixers have failed, and the next one is not started yet.
    package func isHeldBack(at now: MediaTime) -> Bool { failures > 1 && now < retryAt }

    /// Whether no mixer has delivered anything for so long that a program on which a mix is on air waits no longer.
    ///
    /// - Parameters:
    ///   - interval: Distance between two pictures of the mix.
    ///   - isSlateRepeated: Whether the program shows a slate for which no mixer is needed.
    package func isSilent(at now: MediaTime, interval: MediaTime, isSlateRepeated: Bool) -> Bool {
        guard !isSlateRepeated else { return false }
        return lastFrame.map { now - $0 >= Self.patience + interval } ?? false
    }

    /// Longest time until a mixer is started again. Viewers see the host alone meanwhile, or a picture that stands still where nobody
    /// is there. It bounds the load of mixers that always end at once to 12 starts a minute.
    private static let longestPause = 5.0

    /// Returns the time until a mixer that has failed so many times in a row is started again.
    package static func pause(afterFailures count: Int) -> MediaTime {
        count <= 1 ? .zero : .seconds(min(0.5 * Double(1 << min(count - 2, 6)), longestPause))
    }
}
