import EncodedMedia

/// The due times of the items of a stream that arrives faster than real time.
struct PullPacer {
    /// A frame's decoding time, and the time at which it was due.
    private var origin: (dts: MediaTime, due: MediaTime)?
    private var last = MediaTime.zero

    /// Largest step of the decoding times for which to wait; a larger one, or one back by more than `back`, begins a
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
            // A pause of a receiver or a disk must not be caught up in a burst.
            if now - due > PullPacer.back { self.origin = (frame.dts, now) }
            return max(due, now)
        }
    }
}
