import MixModel

/// Maps one source's timestamps to program time.
///
/// `program = source + offset`, with one offset for audio and video. It is set by the first packet so that a packet
/// is due when it arrives; beside a host whose packets come before or after their time, so that it is as late as they
/// are: what was recorded at the same moment is mixed at the same moment, and neither waits for the other. Until the
/// source is on air it follows the earliest arrival at once (a server that sends its cached GOP in a burst would
/// otherwise put the source seconds ahead); on air it only slews, at most `slewRate`, after the smallest lateness of a
/// window, so that a publisher's drifting clock builds neither latency nor A/V skew. A timestamp jump, or a pause, maps
/// anew.
///
/// Unless it slews, the offset is whole milliseconds, as FLV's timestamps are: the program's pictures then keep the very
/// distance from their sound that the source gave them. Any other offset rounds pictures, which come at equal
/// fractions of a millisecond, all by the same half and sound by nothing on average.
public struct SourceClock: Sendable {
    /// Program time minus source time; `nil` before the first packet.
    public private(set) var offset: MediaTime?

    /// 500 ppm: more than any crystal drifts, less than anybody hears.
    public static let slewRate = 0.0005
    /// A step back in the timestamps of this size is a new timeline.
    static let jumpBack = MediaTime.milliseconds(1000)
    /// So is a step forward that exceeds the time that passed by this much.
    static let jumpForward = MediaTime.milliseconds(3000)
    /// Silence after which a late source is taken to have paused.
    static let pause = MediaTime.milliseconds(900)
    static let window = MediaTime.milliseconds(2000)
    /// How long the offset must have stood still before the source may go on air.
    static let settling = MediaTime.milliseconds(100)
    /// How long the offset must have stood still before it only slews, on air.
    static let recovery = MediaTime.milliseconds(300)
    /// Packets that come this much before their time are a burst: jitter of a network is less.
    static let burst = MediaTime.milliseconds(80)

    /// How packets that were mapped before lie beside those that follow.
    public enum Change: Hashable, Sendable {
        /// As their source made them, but for what `slewRate` hides.
        case steady
        /// They do once they are moved by so much.
        case moved(by: MediaTime)
        /// Not at all: the source began a new timeline.
        case mappedAnew
    }

    private var last: (dts: MediaTime, arrival: MediaTime)?
    private var movedAt: MediaTime?
    private var windowStart: MediaTime?
    private var windowMinimum: MediaTime?
    private var lastMinimum: MediaTime?
    private var correction = MediaTime.zero

    public init() {}

    /// Notes the arrival of a packet, before it is mapped.
    ///
    /// - Parameters:
    ///   - dts: the packet's decoding time on the source's timeline.
    ///   - arrival: program time at which it arrived.
    ///   - isOnAir: whether viewers see or hear the source, so that its timeline must not step for small reasons.
    ///   - isCopied: whether its timestamps are the program's own (bypass): only a jump of its own may make them step.
    ///   - reference: the lateness that the earliest packets shall have: the host's `leastLateness`.
    /// - Returns: what became of packets that were mapped before.
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
        if isJump || isPause {
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

    /// How late the earliest packets of the last seconds were; negative when they came before their time. `nil` before
    /// the first packets.
    public var leastLateness: MediaTime? {
        guard let lastMinimum else { return windowMinimum }
        return min(lastMinimum, windowMinimum ?? lastMinimum)
    }

    /// `time` of the source's timeline in program time; as it is before the first packet.
    public func map(_ time: MediaTime) -> MediaTime { time + (offset ?? .zero) }

    /// True when no burst is under way, so that the mapping is good enough to go on air.
    public func isSettled(at now: MediaTime) -> Bool {
        movedAt.map { now - $0 >= SourceClock.settling } ?? false
    }

    /// Shortly after it was mapped a source may still be catching up in a burst, and hardly anything of it has been
    /// seen on this timeline.
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
    }

    /// Takes the smallest lateness of each window as what has to be corrected. `lateness` is beyond the reference.
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
