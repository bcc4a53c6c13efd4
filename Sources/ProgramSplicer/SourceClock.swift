import EncodedMedia

/// Maps one source's timestamps to program time.
///
/// `program = source + offset`, with one offset for audio and video. The first packet sets it so that a packet is due
/// when it arrives. Beside a host whose packets come before or after their time, it is set so that the source's packets
/// are as late as the host's: what was recorded at the same moment is mixed at the same moment, and neither waits for
/// the other. Until the source is on air, the offset follows the earliest arrival at once, because a server that sends
/// its cached GOP in a burst would otherwise put the source seconds ahead. On air it only slews, by at most `slewRate`,
/// after the smallest lateness of a window, so that a publisher's drifting clock builds up neither latency nor A/V
/// skew. A timestamp jump or a pause starts a new mapping.
///
/// Unless it slews, the offset is in whole milliseconds, like FLV's timestamps, so that the program's pictures keep
/// exactly the distance from their sound that the source gave them. Any other offset would round all pictures, which
/// share one fraction of a millisecond, by the same amount, and sound by nothing on average.
public struct SourceClock: Sendable {
    /// Program time minus source time; `nil` before the first packet.
    public private(set) var offset: MediaTime?

    /// Largest rate at which the offset slews: 500 ppm, more than any crystal drifts and less than a listener can hear.
    public static let slewRate = 0.0005
    /// Smallest step back in the timestamps that counts as a new timeline.
    static let jumpBack = MediaTime.milliseconds(1000)
    /// Smallest excess of a step forward over the elapsed time that counts as a new timeline.
    static let jumpForward = MediaTime.milliseconds(3000)
    /// Silence after which a late source is taken to have paused.
    static let pause = MediaTime.milliseconds(900)
    static let window = MediaTime.milliseconds(2000)
    /// Time for which the offset must have stood still before the source may go on air.
    static let settling = MediaTime.milliseconds(100)
    /// Time for which the offset must have stood still before it only slews, on air.
    static let recovery = MediaTime.milliseconds(300)
    /// Lead of packets over their time that counts as a burst; network jitter is smaller.
    static let burst = MediaTime.milliseconds(80)

    /// The relation of packets that were mapped before to those that follow.
    public enum Change: Hashable, Sendable {
        /// Both lie as their source made them, apart from what `slewRate` hides.
        case steady
        /// Both lie as their source made them once the earlier packets are moved by this amount.
        case moved(by: MediaTime)
        /// Unrelated: the source began a new timeline.
        case mappedAnew
    }

    private var last: (dts: MediaTime, arrival: MediaTime)?
    private var movedAt: MediaTime?
    private var windowStart: MediaTime?
    private var windowMinimum: MediaTime?
    private var lastMinimum: MediaTime?
    private var correction = MediaTime.zero
    /// Whether the next packet begins a new timeline.
    private var isBroken = false

    public init() {}

    /// Notes the arrival of a packet, before it is mapped.
    ///
    /// - Parameters:
    ///   - dts: Decoding time of the packet on the source's timeline.
    ///   - arrival: Program time at which the packet arrived.
    ///   - isOnAir: Whether viewers see or hear the source, so that its timeline must not step for small reasons.
    ///   - isCopied: Whether its timestamps are the program's own (bypass), so that only a jump of its own may make
    ///     them step.
    ///   - reference: Lateness that the earliest packets should have: the host's `leastLateness`.
    /// - Returns: The relation of packets that were mapped before to those that follow.
    public mutating func observe(
        dts: MediaTime, arrival: MediaTime, isOnAir: Bool, isCopied: Bool = false, reference: MediaTime = .zero
    ) -> Change {
        defer { last = (dts, arrival) }
        let due = arrival - reference
        guard let offset, let last else {
            remap(dts: dts, arrival: arrival, due: due)
            return .steady
        }
        let step = dts - last.dts
        let elapsed = arrival - last.arrival
        let lateness = due - (dts + offset)
        let isJump = step < -SourceClock.jumpBack || step > elapsed + SourceClock.jumpForward
        let isPause = !isCopied && elapsed > SourceClock.pause && lateness > SourceClock.pause / 2
        if isJump || isPause || isBroken {
            remap(dts: dts, arrival: arrival, due: due)
            return .mappedAnew
        }
        let isBurst = !isCopied && lateness < -SourceClock.burst && isNew(at: arrival)
        let isFixed = isOnAir && !isBurst
        if isFixed {
            slew(after: elapsed)
        } else if lateness < .zero {
            self.offset = (offset + lateness).rounded
            // A step of this size is a burst; smaller ones are jitter.
            if lateness < -MediaTime.milliseconds(10) { movedAt = arrival }
        }
        follow(
            lateness: isFixed ? lateness : max(lateness, .zero), reference: reference, arrival: arrival,
            isOnAir: isFixed)
        guard !isFixed, let moved = self.offset.map({ $0 - offset }), moved != .zero else { return .steady }
        return .moved(by: moved)
    }

    /// Notes that the timestamps of later packets are unrelated to those of earlier ones: the next packet is mapped
    /// anew.
    package mutating func breakTimeline() { isBroken = true }

    /// Lateness of the earliest packets of the last seconds; negative if they came before their time. `nil` before the
    /// first packets.
    public var leastLateness: MediaTime? {
        guard let lastMinimum else { return windowMinimum }
        return min(lastMinimum, windowMinimum ?? lastMinimum)
    }

    /// Maps `time` from the source's timeline to program time; returns it unchanged before the first packet.
    public func map(_ time: MediaTime) -> MediaTime { time + (offset ?? .zero) }

    /// Whether no burst is under way, so that the mapping is good enough to go on air.
    public func isSettled(at now: MediaTime) -> Bool {
        movedAt.map { now - $0 >= SourceClock.settling } ?? false
    }

    /// Whether the source was mapped so recently that it may still be catching up in a burst, and hardly any of its
    /// packets have been seen on this timeline.
    private func isNew(at now: MediaTime) -> Bool { movedAt.map { now - $0 < SourceClock.recovery } ?? false }

    /// Moves the timeline of the source, for a splice onto another frame grid.
    public mutating func shift(by amount: MediaTime) {
        guard let offset else { return }
        self.offset = offset + amount
        lastMinimum = lastMinimum.map { $0 - amount }
        windowMinimum = windowMinimum.map { $0 - amount }
    }

    private mutating func remap(dts: MediaTime, arrival: MediaTime, due: MediaTime) {
        offset = (due - dts).rounded
        movedAt = arrival
        windowStart = arrival
        windowMinimum = nil
        lastMinimum = nil
        correction = .zero
        isBroken = false
    }

    /// Takes the smallest lateness of each window as the amount to correct. `lateness` is relative to the reference.
    private mutating func follow(lateness: MediaTime, reference: MediaTime, arrival: MediaTime, isOnAir: Bool) {
        windowMinimum = min(windowMinimum ?? lateness + reference, lateness + reference)
        guard let start = windowStart, let minimum = windowMinimum, arrival - start >= SourceClock.window else {
            return
        }
        windowStart = arrival
        windowMinimum = nil
        lastMinimum = minimum
        guard let offset else { return }
        let excess = minimum - reference
        if isOnAir {
            let isOff = excess.magnitude > .milliseconds(1)
            correction = (offset + (isOff ? excess : .zero)).rounded - offset
        } else {
            let moved = (offset + excess).rounded
            self.offset = moved
            lastMinimum = minimum - (moved - offset)
        }
    }

    private mutating func slew(after elapsed: MediaTime) {
        guard correction != .zero, let offset else { return }
        let limit = Int64(Double(max(elapsed.nanoseconds, 0)) * SourceClock.slewRate)
        let step = MediaTime(nanoseconds: min(max(correction.nanoseconds, -limit), limit))
        self.offset = offset + step
        correction -= step
    }
}
