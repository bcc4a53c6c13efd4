import EncodedMedia

/// Chooses which decoded frame of one source each frame of a mix shows.
///
/// A source with the canvas's frame rate (or a whole fraction of it) is shown one-to-one, regardless of its phase
/// against the canvas's grid. The sampler learns the phase and places the source's *window* for a tick, one canvas
/// interval long, so that the source's frames lie in its middle. Timestamps may then be wrong by nearly half an
/// interval before a frame is skipped or repeated. The phase lies within (−0.9, 0.1] of an interval relative to the
/// tick, so that no tick waits for a future frame. At any other rate, a tick shows the newest frame that is at most a
/// tenth of an interval younger than the tick.
///
/// Holds timestamps only; the caller keeps the pictures and drops those for which `isNeeded` is false.
public struct FrameSampler: Sendable {
    /// The frame for a tick, as far as it is known.
    public enum Choice: Hashable, Sendable {
        /// The frame with this timestamp, possibly the one already shown.
        case frame(MediaTime)
        /// The frame for this tick is still to come; `newest` is the one to show if the tick cannot wait.
        case pending(newest: MediaTime?)
    }

    /// Frame interval of the canvas.
    public let interval: MediaTime
    /// Whether the canvas's grid follows this source's frames, so that its phase is 0 by definition.
    public let isHost: Bool
    /// Timestamps not yet passed, in increasing order.
    public private(set) var frames: [MediaTime] = []
    /// Canvas intervals per source frame while the source is locked to the grid, 0 while it is not.
    public private(set) var lock = 1
    /// Position of the source's frames relative to the ticks that show them.
    public private(set) var phase: MediaTime?
    /// Slow average of the distance of the shown frames from `phase`.
    public private(set) var wander: MediaTime = .zero

    /// Time by which frames are shown later than their own times, with noise averaged out; negative if they are shown
    /// early. `nil` while no frame is shown, or the source is not locked to the grid.
    public var delay: MediaTime? {
        guard lock > 0, shown != nil, let phase else { return nil }
        return -(phase + wander)
    }

    private var shown: MediaTime?
    private var newest: MediaTime?
    private var deltas: [Int64] = []
    private var nextTick: MediaTime

    /// - Parameters:
    ///   - interval: Frame interval of the canvas, > 0.
    ///   - tick: Time of the canvas's first frame that may show this source.
    public init(interval: MediaTime, firstTick tick: MediaTime, isHost: Bool) {
        self.interval = max(interval, MediaTime(nanoseconds: 1))
        self.isHost = isHost
        nextTick = tick
    }

    /// Largest number of timestamps, and thus pictures, that are held.
    public static let capacity = 32

    /// Returns whether the picture with this timestamp can still be requested.
    public func isNeeded(_ pts: MediaTime) -> Bool { pts == shown || frames.contains(pts) }

    /// Adds a decoded frame, in display order. A timestamp that is not later than the previous one (timestamps were
    /// re-mapped) restarts the source: waiting frames are skipped.
    public mutating func append(_ pts: MediaTime) {
        if let newest {
            if pts <= newest {
                frames.removeAll()
                deltas.removeAll()
                phase = nil
            } else {
                deltas.append(min(pts - newest, Self.longestDelta).nanoseconds)
                if deltas.count > 16 { deltas.removeFirst() }
            }
        }
        newest = pts
        frames.append(pts)
        learnRate()
        if phase == nil, lock > 0 { phase = isHost ? .zero : wrapped((pts - nextTick).modulo(interval), -0.9, 0.1) }
        // Only the last of the frames before the next tick can still be shown.
        while frames.count > 1, frames[1] <= end(tick: nextTick) { frames.removeFirst() }
        if frames.count > Self.capacity { frames.removeFirst(frames.count - Self.capacity) }
    }

    /// Returns the frame that the tick at `tick` shows. Changes no state, so call it again when new frames arrive.
    public func choice(tick: MediaTime) -> Choice {
        let end = end(tick: tick)
        guard let last = frames.last else {
            // The next frame of a slow source is not due yet.
            guard let shown, let newest, newest + MediaTime(nanoseconds: sourceInterval * 3 / 4) > end else {
                return .pending(newest: shown)
            }
            return .frame(shown)
        }
        if last > end {
            // Before the first window the first frame is shown early: better than nothing.
            return .frame(frames.last { $0 <= end } ?? shown ?? frames[0])
        }
        let expected = last + MediaTime(nanoseconds: sourceInterval * 3 / 4)
        return expected > end ? .frame(last) : .pending(newest: last)
    }

    /// Returns whether the tick at `tick`, for which `choice` is pending, is waiting for a frame with this timestamp.
    public func isAwaited(_ pts: MediaTime, tick: MediaTime) -> Bool {
        guard pts <= end(tick: tick) else { return false }
        return (newest ?? shown).map { pts > $0 } ?? true
    }

    /// Records that the tick has been composed, showing the frame with timestamp `pts` (`nil` for none). Older frames
    /// are skipped.
    public mutating func commit(tick: MediaTime, shown pts: MediaTime?) {
        nextTick = tick + interval
        guard let pts else { return }
        let isNew = pts != shown
        shown = pts
        frames.removeAll { $0 <= pts }
        if isNew, lock > 0, let phase { track(pts - tick - phase) }
    }

    /// Records that the canvas's grid was moved to follow this source, the host, whose frames are now nearer to their
    /// ticks by `amount`.
    public mutating func noteGridMoved(by amount: MediaTime) { wander -= amount }

    /// End of the tick's window, inclusive.
    private func end(tick: MediaTime) -> MediaTime {
        guard lock > 0, let phase else { return tick + interval / 10 }
        return tick + phase + interval / 2
    }

    /// Mean distance of the source's frames in ns, not counting missing ones; the canvas's interval until enough are
    /// known.
    private var sourceInterval: Int64 {
        guard deltas.count >= Self.deltasToJudge else { return interval.nanoseconds }
        let median = deltas.sorted()[deltas.count / 2]
        // Summing whole numbers of intervals makes timestamp noise cancel and lost frames harmless.
        let steps = deltas.reduce(0) { $0 + max(1, ($1 + median / 2) / median) }
        return deltas.reduce(0, +) / steps
    }

    private static let deltasToJudge = 6
    /// Longest distance that is counted: longer ones say nothing about a rate.
    private static let longestDelta = MediaTime.seconds(3600)

    private mutating func learnRate() {
        guard deltas.count >= Self.deltasToJudge else { return }
        let ratio = Double(sourceInterval) / Double(interval.nanoseconds)
        let whole = ratio.rounded()
        let tolerance = lock > 0 ? 0.06 : 0.03
        let wasLocked = lock > 0
        lock = whole >= 1 && abs(ratio - whole) < tolerance * whole ? Int(whole) : 0
        if lock > 0, !wasLocked { phase = nil }
    }

    /// Follows the source's phase. Small steps of the window keep every frame in it; only when the phase has drifted
    /// out of its range by a quarter of an interval does the window jump by one interval (one frame repeated or
    /// skipped).
    private mutating func track(_ residual: MediaTime) {
        guard residual.magnitude <= interval / 2 else { return }
        wander += (residual - wander) / 8
        guard !isHost, let phase, wander.magnitude > interval / 4 else { return }
        self.phase = wrapped(phase + wander, -1.15, 0.35)
        wander = .zero
    }

    /// Returns `value` moved by one interval towards the range, if it is outside of it.
    private func wrapped(_ value: MediaTime, _ low: Double, _ high: Double) -> MediaTime {
        let unit = Double(interval.nanoseconds)
        if Double(value.nanoseconds) > high * unit { return value - interval }
        if Double(value.nanoseconds) <= low * unit { return value + interval }
        return value
    }
}

extension MediaTime {
    /// Returns the remainder in 0 ..< `unit`.
    fileprivate func modulo(_ unit: MediaTime) -> MediaTime {
        let rest = nanoseconds % unit.nanoseconds
        return MediaTime(nanoseconds: rest < 0 ? rest + unit.nanoseconds : rest)
    }
}
