/// The times at which a browser without a screen's refresh signal paints, and the capture that follows them.
///
/// Chromium's timer for frames (`DelayBasedTimeSource`, with `BeginFrameArgs::DefaultInterval`) ticks at multiples of a 60th
/// of a second, cut to whole microseconds, of CLOCK_MONOTONIC; a browser that saves its battery paints at every second
/// tick. A capture at 30 pictures a second with any phase would slide past the paintings once in 14 minutes, and repeat
/// and skip pictures while both coincide.
enum PaintTicks {
    /// Interval between ticks in ns.
    static let interval: Int64 = 16_666_000
    /// Time in ns from a tick to the capture. A painting takes a few milliseconds, and must be either before or behind
    /// the capture, always the same.
    static let phase: Int64 = 16_000_000

    /// Returns the time in ns between two captured pictures.
    ///
    /// - Parameter frameRate: Pictures per second, 1 or more. If it does not divide 60, the capture cannot follow the
    ///   ticks, and has exactly this rate.
    static func period(frameRate: Int) -> (nanoseconds: Int64, isAligned: Bool) {
        guard 60 % frameRate == 0 else { return (1_000_000_000 / Int64(frameRate), false) }
        return (Int64(60 / frameRate) * interval, true)
    }

    /// Returns the latest time at or before `now` at which a capture may begin, in ns of CLOCK_MONOTONIC.
    static func start(before now: Int64) -> Int64 {
        let behind = (now - phase) % interval
        return now - (behind < 0 ? behind + interval : behind)
    }

    /// Returns the frame rate of a capture as GStreamer writes it.
    static func fraction(frameRate: Int) -> String {
        let period = period(frameRate: frameRate)
        // Whole microseconds keep both numbers below 2³¹.
        return period.isAligned ? "1000000/\(period.nanoseconds / 1000)" : "\(frameRate)/1"
    }
}
