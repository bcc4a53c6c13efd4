import Dispatch
import EncodedMedia
import Foundation
import MixModel
import Synchronization

/// The mix's state, and the bell that wakes the tick thread. Safe to use from any thread; no operation under its lock
/// waits.
final class MixShared: Sendable {
    private let state: Mutex<MixState>
    private let programStart: Int64
    private let clock: @Sendable () -> Int64
    private let bell = DispatchSemaphore(value: 0)
    /// Whether the bell was rung and not yet heard. Prevents rings from accumulating.
    private let isRung = Atomic(false)

    /// - Parameter clock: Returns the time in ns, on the clock of `programStart`.
    init(setup: MixerSetup, clock: @escaping @Sendable () -> Int64) {
        self.clock = clock
        programStart = setup.programStart
        state = Mutex(MixState(setup: setup))
    }

    /// Current program time.
    var now: MediaTime { MediaTime(nanoseconds: clock() - programStart) }

    /// Seconds since 1970 at program time 0, by the wall clock as it is set now.
    var epoch: Double { Date().timeIntervalSince1970 - now.inSeconds }

    /// Runs `body` on the state without waking the tick thread.
    func look<Result: Sendable>(_ body: (inout MixState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Runs `body`, which may allow a frame to be made, and wakes the tick thread.
    func change(_ body: (inout MixState) -> Void) {
        state.withLock { body(&$0) }
        ring()
    }

    /// Runs `body`, and wakes the tick thread if `body` returns that a frame can be made.
    func arrive(_ body: (inout MixState) -> Bool) {
        if state.withLock({ body(&$0) }) { ring() }
    }

    func ring() {
        if isRung.exchange(true, ordering: .acquiringAndReleasing) { return }
        bell.signal()
    }

    /// Waits for the next ring, at most until program time `time`; `nil` means no limit.
    func waitForRing(until time: MediaTime?) {
        if let time {
            let remaining = max(0, (time - now).nanoseconds)
            _ = bell.wait(timeout: .now() + .nanoseconds(Int(remaining)))
        } else {
            bell.wait()
        }
        isRung.store(false, ordering: .releasing)
    }
}
