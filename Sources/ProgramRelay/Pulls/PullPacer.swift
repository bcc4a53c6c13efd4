import EncodedMedia

/// The times at which the items of a stream are due that comes faster than it is shown.
struct PullPacer {
    /// A frame's decoding time, and the time at which it was due.
    private var origin: (dts: MediaTime, due: MediaTime)?
    private var last = MediaTime.zero

    /// Largest step of the decoding times that is waited for; a larger one, or one back by more than `back`, begins a
    /// new timeline.
    static let step = MediaTime.seconds(10)
    static let back = MediaTime.milliseconds(1000)

    /// Returns the time at which an item is due: now, or later.
    mutating func due(_ item: MediaItem, now: MediaTime) -> MediaTime {
        switch item {
        case .configuration, .metadata: return now
        case .discontinuity:
            origin = nil
            return now
        case .frame(let frame):
            defer { last = frame.dts }
            let step = frame.dts - last
            guard let origin, step <= PullPacer.step, step >= -PullPacer.back else {
                origin = (frame.dts, now)
                return now
            }
            let due = origin.due + (frame.dts - origin.dts)
            // A receiver or a disk that paused must not be made up for in a burst.
            if now - due > PullPacer.back { self.origin = (frame.dts, now) }
            return max(due, now)
        }
    }
}
