import Dispatch
import EncodedMedia
import Synchronization

/// Delays frames of a segmented stream until they are due, on the threads that deliver them.
final class PullPace: Sendable {
    private let plan: Mutex<SegmentPacer>
    private let isOver = DispatchSemaphore(value: 0)

    init(_ plan: SegmentPacer) { self.plan = Mutex(plan) }

    /// Waits until a frame is due. Does not wait after `stop()`.
    func wait(for time: MediaTime) {
        let now = MediaTime(nanoseconds: MonotonicClock.now())
        let delay = plan.withLock { $0.due(time, now: now) } - now
        guard delay > .zero, isOver.wait(timeout: .now() + .nanoseconds(Int(delay.nanoseconds))) == .success else {
            return
        }
        // For other threads.
        isOver.signal()
    }

    func stop() { isOver.signal() }
}

/// The due times of frames that arrive in segments of a few seconds. Tracks arrive independently, each in order.
struct SegmentPacer: Sendable {
    /// Largest delay of frames that is caught up in a burst. A longer one delays everything that follows.
    static let tolerance = MediaTime.milliseconds(150)
    /// Longest wait; a frame beyond it begins a new timeline.
    static let furthest = MediaTime.seconds(10)

    /// Time by which the first frame, and frames after a delay, are held back, so that a late segment does not cause a
    /// gap at once.
    let lead: MediaTime
    private var origin: (time: MediaTime, due: MediaTime)?

    init(lead: MediaTime) { self.lead = lead }

    /// Returns the time at which a frame is due, which may be before `now`.
    mutating func due(_ time: MediaTime, now: MediaTime) -> MediaTime {
        guard let origin, origin.due + (time - origin.time) - now <= Self.furthest else {
            self.origin = (time, now + lead)
            return now + lead
        }
        let due = origin.due + (time - origin.time)
        guard now - due > Self.tolerance else { return due }
        self.origin = (time, now + lead)
        return now + lead
    }
}
