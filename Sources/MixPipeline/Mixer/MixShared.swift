import Dispatch
import Foundation
import MixModel
import Synchronization

/// The mix's state and the bell that wakes the tick thread. Usable from any thread; nothing is done under its lock
/// that waits.
final class MixShared: Sendable {
    private let state: Mutex<MixState>
    private let programStart: Int64
    private let bell = DispatchSemaphore(value: 0)
    /// True while the bell has been rung and not yet heard: rings do not pile up.
    private let isRung = Atomic(false)

    init(setup: MixerSetup) {
        programStart = setup.programStart
        state = Mutex(MixState(setup: setup))
    }

    /// Program time.
    var now: MediaTime { MediaTime(nanoseconds: MonotonicClock.now - programStart) }

    /// Seconds since 1970 at program time 0, by the clock on the wall as it stands.
    var epoch: Double { Date().timeIntervalSince1970 - now.inSeconds }

    /// Looks without waking anybody.
    func look<Result: Sendable>(_ body: (inout MixState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Changes something that may let a frame be made.
    func change(_ body: (inout MixState) -> Void) {
        state.withLock { body(&$0) }
        ring()
    }

    func ring() {
        if isRung.exchange(true, ordering: .acquiringAndReleasing) { return }
        bell.signal()
    }

    /// Waits for the next ring, at most until `time` of the program (`nil`: as long as it takes).
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
