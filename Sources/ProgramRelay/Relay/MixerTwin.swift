import EncodedMedia
import ProgramSplicer

/// The twin of the mixer on air: its slot, and the time at which another one may be started.
struct MixerTwin {
    /// The twin; `nil` while there is none.
    var slot: MixerSlot?
    var watch = TwinWatch()
    private(set) var failures = 0
    private(set) var retryAt = MediaTime.zero

    /// Records that a mixer of the pair has ended unexpectedly.
    ///
    /// - Parameters:
    ///   - isHealthy: Whether it worked for long enough to count as healthy.
    ///   - wait: Returns the delay before the next start after this number of failures in a row.
    mutating func failed(isHealthy: Bool, now: MediaTime, wait: (Int) -> MediaTime) {
        failures = isHealthy ? 1 : failures + 1
        retryAt = now + wait(failures)
    }
}
