import EncodedMedia

/// The part of a `SourceClock` that concerns one track.
struct TrackClock: Sendable {
    /// The last packet: its time on the source's timeline, where it was mapped, and its arrival.
    var last: (dts: MediaTime, mapped: MediaTime, arrival: MediaTime)?
    /// Amount added to the track's times in addition to the source's offset.
    var extra = MediaTime.zero
    /// The value of `extra` at which the tracks have the distance that their source gave them.
    var home = MediaTime.zero

    /// Distance of the last packets.
    private var interval = MediaTime.zero
    /// Smallest lateness of the last `windows` windows, and of the current one.
    private var latest: [MediaTime] = []
    private var minimum: MediaTime?
    private var windowStart: MediaTime?

    private static let window = MediaTime.milliseconds(250)
    private static let windows = 4
    /// Largest difference between windows during normal delivery: a server that catches up changes faster.
    private static let steadiness = MediaTime.milliseconds(60)

    /// Whether the other track's timestamps have made a step that this track's have not.
    var isBehindStep: Bool { extra != home }

    /// Time of the next packet if the timestamps continue.
    var next: MediaTime? { last.map { $0.mapped + interval } }

    /// Lateness of the earliest packets of the last second; `nil` during a burst, or if there are too few packets.
    var steadyLateness: MediaTime? {
        guard latest.count == Self.windows, let least = latest.min(), let most = latest.max() else { return nil }
        return most - least < Self.steadiness ? least : nil
    }

    /// Returns whether a packet is not on the timeline of the earlier packets.
    ///
    /// - Parameter lateness: Its arrival minus the time at which it would be mapped.
    func steps(to dts: MediaTime, at arrival: MediaTime, lateness: MediaTime, isAhead: Bool) -> Bool {
        guard let last else { return false }
        let step = dts - last.dts
        let excess = step - (arrival - last.arrival)
        return step < -SourceClock.jumpBack || excess > SourceClock.jumpForward
            || isAhead && excess > SourceClock.stepForward + interval
            // Constant timestamps carry no information; a mix would wait for pictures that never come.
            || step <= .zero && lateness > SourceClock.behindWhenLeaving && arrival - last.arrival > .milliseconds(10)
    }

    mutating func note(dts: MediaTime, mapped: MediaTime, arrival: MediaTime, lateness: MediaTime) {
        if let last, dts > last.dts, dts - last.dts < .seconds(1) { interval = dts - last.dts }
        last = (dts, mapped, arrival)
        guard let start = windowStart, arrival - start < .seconds(1) else {
            latest = []
            (windowStart, minimum) = (arrival, lateness)
            return
        }
        guard arrival - start >= Self.window else {
            minimum = min(minimum ?? lateness, lateness)
            return
        }
        latest.append(min(minimum ?? lateness, lateness))
        if latest.count > Self.windows { latest.removeFirst() }
        (windowStart, minimum) = (arrival, nil)
    }

    mutating func forgetLateness() {
        latest = []
        (windowStart, minimum) = (nil, nil)
    }
}
