import EncodedMedia

/// Maps one source's timestamps to program time.
///
/// `program = source + offset`, with one offset for audio and video. The first packet sets it so that a packet is due
/// when it arrives. If a host's packets arrive before or after their time, the offset is set so that the source's
/// packets are as late as the host's: media recorded at the same moment is mixed at the same moment, and neither source
/// waits for the other. Until the source is on air, the offset follows the earliest arrival at once, because a server
/// that sends its cached GOP in a burst would otherwise put the source seconds ahead. On air it only slews, following
/// the smallest lateness of a window and no faster than necessary, so that a publisher's drifting clock builds up
/// neither latency nor A/V skew.
///
/// On air, too, the source stays near the time of its arrival, because a mix cannot take over from one that is ahead:
/// packets more than `ahead` before their time, or `behind` after it for a whole window, move the offset. A step in the
/// timestamps of one track begins a new timeline, which continues where the track's last packet ended if it can. The
/// other track stays in place until its own timestamps make the same step; then both have the distance again that their
/// source gave them. Tracks that always arrive more than `apart` from each other are mapped separately, each by its
/// arrival. A pause starts a new mapping.
///
/// Unless it slews, the offset is in whole milliseconds, like FLV's timestamps, so that the program's pictures keep
/// exactly the distance from their audio that the source gave them. Any other offset would round all pictures, which
/// share one fraction of a millisecond, by the same amount, but audio by nothing on average.
public struct SourceClock: Sendable {
    /// Program time minus source time; `nil` before the first packet.
    public private(set) var offset: MediaTime?

    /// Rate at which the offset slews: 500 ppm, more than any crystal oscillator drifts and less than a listener can
    /// hear.
    public static let slewRate = 0.0005
    /// Largest rate, at `farCorrection`, for a publisher with a poor clock: the distance has grown by `outrunning` in
    /// six windows in spite of `slewRate`, and has not fallen to `nearCorrection` since.
    public static let fastestSlewRate = 0.004
    /// Largest step of the offset between two packets while it slews.
    static let longestSlew = MediaTime(nanoseconds: 500_000)
    static let nearCorrection = MediaTime.milliseconds(10)
    static let farCorrection = MediaTime.milliseconds(60)
    static let outrunning = MediaTime.milliseconds(2)
    /// Smallest step back in a track's timestamps that counts as a new timeline.
    static let jumpBack = MediaTime.milliseconds(300)
    /// Smallest excess of a step forward over the elapsed time that counts as a new timeline: in any case, and if it
    /// puts the track ahead.
    static let jumpForward = MediaTime.milliseconds(3000)
    static let stepForward = MediaTime.milliseconds(150)
    /// Largest lead of packets over their time on air; a mix is made at most 250 ms early.
    static let ahead = MediaTime.milliseconds(200)
    /// Largest lateness of a window on air: normally, and if a mix is about to take over at a boundary that it must not
    /// have passed.
    static let behind = MediaTime.milliseconds(300)
    static let behindWhenLeaving = MediaTime.milliseconds(100)
    /// Distance between the arrivals of two tracks above which their timestamps count as unrelated.
    static let apart = MediaTime.milliseconds(1000)
    /// Silence after which a late source counts as paused.
    static let pause = MediaTime.milliseconds(900)
    static let window = MediaTime.milliseconds(2000)
    /// Time for which the offset must have been constant before the source may go on air.
    static let settling = MediaTime.milliseconds(100)
    /// Time for which the offset must have been constant before it only slews, on air.
    static let recovery = MediaTime.milliseconds(300)
    /// Lead of packets over their time that counts as a burst; network jitter is smaller.
    static let burst = MediaTime.milliseconds(80)

    /// The relation of earlier packets to those that follow.
    public enum Change: Hashable, Sendable {
        /// Both keep the distances that their source gave them, apart from slewing at `slewRate`.
        case steady
        /// Both keep the distances that their source gave them once the earlier packets are moved by this amount.
        case moved(by: MediaTime)
        /// Unrelated: the source began a new timeline.
        case mappedAnew
    }

    /// The role of a source on the program's timeline.
    public struct Role: Hashable, Sendable {
        /// Whether viewers see or hear the source, so that its timeline must not step for small reasons.
        public var isOnAir = false
        /// Whether its timestamps are the program's own (bypass).
        public var isCopied = false
        /// Whether a mix that must not have passed the source's time is about to take over from it.
        public var isLeaving = false
        /// Lateness that the earliest packets should have: the host's `leastLateness`.
        public var reference = MediaTime.zero

        public init(
            isOnAir: Bool = false, isCopied: Bool = false, isLeaving: Bool = false, reference: MediaTime = .zero
        ) {
            self.isOnAir = isOnAir
            self.isCopied = isCopied
            self.isLeaving = isLeaving
            self.reference = reference
        }
    }

    /// Amount by which the offset has slewed so far. Earlier packets keep the source's distances to those that follow
    /// once they are moved by the change of this amount.
    private(set) var slewed = MediaTime.zero

    private var video = TrackClock()
    private var audio = TrackClock()
    private var lastArrival: MediaTime?
    private var movedAt: MediaTime?
    private var windowStart: MediaTime?
    private var windowMinimum: MediaTime?
    private var lastMinimum: MediaTime?
    private var correction = MediaTime.zero
    /// The corrections that the last windows required.
    private var excesses: [MediaTime] = []
    /// Whether the publisher's clock is faster than `slewRate`.
    private var isOutrun = false
    /// Whether the next packet begins a new timeline.
    private var isBroken = false
    /// Whether the timeline is not the first one, so that it may begin with a burst on air.
    private var isLaterTimeline = false

    public init() {}

    /// Records the arrival of a packet, before it is mapped.
    ///
    /// - Parameters:
    ///   - dts: Decoding time of the packet on the source's timeline.
    ///   - arrival: Program time at which the packet arrived.
    /// - Returns: The relation of earlier packets to those that follow.
    public mutating func observe(_ track: Track, dts: MediaTime, arrival: MediaTime, as role: Role) -> Change {
        defer { lastArrival = arrival }
        let due = arrival - role.reference
        let change = place(track, dts: dts, due: due, arrival: arrival, as: role)
        self[track].note(dts: dts, mapped: map(dts, of: track), arrival: arrival, lateness: due - map(dts, of: track))
        return separate(track, at: arrival) ? .mappedAnew : change
    }

    private mutating func place(
        _ track: Track, dts: MediaTime, due: MediaTime, arrival: MediaTime, as role: Role
    ) -> Change {
        guard let offset, let lastArrival, !isBroken else {
            let isFirst = self.offset == nil
            (video, audio) = (TrackClock(), TrackClock())
            remap(to: due - dts, at: arrival)
            isLaterTimeline = !isFirst
            return isFirst ? .steady : .mappedAnew
        }
        let elapsed = arrival - lastArrival
        let lateness = due - map(dts, of: track)
        if !role.isCopied, elapsed > Self.pause, lateness > Self.pause / 2 {
            (video.extra, audio.extra) = (video.home, audio.home)
            remap(to: due - dts - self[track].extra, at: arrival)
            return .mappedAnew
        }
        let isAhead = role.isOnAir && lateness < -Self.ahead
        if self[track].steps(to: dts, at: arrival, lateness: lateness, isAhead: isAhead) {
            return follow(track, dts: dts, due: due) ? .steady : begin(track, dts: dts, due: due, at: arrival)
        }
        if isAhead, follow(track, dts: dts, due: due) { return .steady }
        let isBurst = (!role.isCopied || isLaterTimeline) && lateness < -Self.burst && isNew(at: arrival)
        let isFixed = role.isOnAir && !isBurst && !isAhead
        if isFixed {
            rejoin(at: arrival)
            slew(after: elapsed)
        } else if lateness < .zero {
            self.offset = rejoined(track, (offset + lateness).rounded)
            // A step of this size is a burst; smaller ones are jitter.
            if lateness < -MediaTime.milliseconds(10) { movedAt = arrival }
        }
        let isLate = follow(
            lateness: isFixed ? lateness : max(lateness, .zero), arrival: arrival, isFixed: isFixed, as: role)
        if isLate { return .mappedAnew }
        guard !isFixed, let moved = self.offset.map({ $0 - offset }), moved != .zero else { return .steady }
        return .moved(by: moved)
    }

    /// Records that the timestamps of later packets are unrelated to those of earlier ones: the next packet starts a
    /// new mapping.
    package mutating func breakTimeline() { isBroken = true }

    /// Lateness of the earliest packets of the last seconds; negative if they came before their time. `nil` before the
    /// first packets.
    public var leastLateness: MediaTime? {
        guard let lastMinimum else { return windowMinimum }
        return min(lastMinimum, windowMinimum ?? lastMinimum)
    }

    /// Maps `time` from the source's timeline to program time; returns it unchanged before the first packet.
    public func map(_ time: MediaTime, of track: Track) -> MediaTime { time + self[track].extra + (offset ?? .zero) }

    /// Returns whether no burst is under way, so that the mapping is good enough to go on air.
    public func isSettled(at now: MediaTime) -> Bool {
        movedAt.map { now - $0 >= SourceClock.settling } ?? false
    }

    /// Returns whether the source was mapped so recently that it may still be catching up in a burst, and few of its
    /// packets have been seen on this timeline.
    private func isNew(at now: MediaTime) -> Bool { movedAt.map { now - $0 < SourceClock.recovery } ?? false }

    /// Moves the timeline of the source, for a splice onto another frame grid.
    public mutating func shift(by amount: MediaTime) {
        guard let offset else { return }
        self.offset = offset + amount
        lastMinimum = lastMinimum.map { $0 - amount }
        windowMinimum = windowMinimum.map { $0 - amount }
        video.last?.mapped += amount
        audio.last?.mapped += amount
    }

    // MARK: Tracks

    private subscript(track: Track) -> TrackClock {
        get { track == .video ? video : audio }
        set { if track == .video { video = newValue } else { audio = newValue } }
    }

    /// Lets a track follow the other one, whose timestamps have stepped before.
    ///
    /// - Returns: Whether it does, so that both have the distance that their source gave them.
    private mutating func follow(_ track: Track, dts: MediaTime, due: MediaTime) -> Bool {
        guard let offset, self[track].isBehindStep else { return false }
        guard (due - (dts + self[track].home + offset)).magnitude < Self.apart else { return false }
        self[track].extra = self[track].home
        return true
    }

    /// Begins a new timeline with a packet, at the end of the track's previous packet if that is near its arrival.
    private mutating func begin(_ track: Track, dts: MediaTime, due: MediaTime, at arrival: MediaTime) -> Change {
        guard let offset else { return .steady }
        let next = self[track].next ?? due
        let isNear = next - due <= Self.ahead && due - next <= Self.behindWhenLeaving
        self[track].extra = self[track].home
        let other: Track = track == .video ? .audio : .video
        remap(to: (isNear ? next : due) - dts - self[track].extra, at: arrival)
        isLaterTimeline = true
        // It stays where it is, until it makes the same step.
        if let moved = self.offset.map({ $0 - offset }), self[other].last != nil { self[other].extra -= moved }
        return .mappedAnew
    }

    /// Returns the offset to which a burst moves a track: `wanted`, or the offset of the other track if that has not
    /// stepped and is near.
    private mutating func rejoined(_ track: Track, _ wanted: MediaTime) -> MediaTime {
        let other: Track = track == .video ? .audio : .video
        guard let offset else { return wanted }
        guard self[other].isBehindStep else { return wanted }
        // The other track is not moved.
        let line = offset + self[other].extra - self[other].home
        let result = (line - wanted).magnitude <= Self.ahead ? line : wanted
        self[other].extra += offset - result
        return result
    }

    /// Restores the distance of the tracks if no step has followed and only the end of a burst lies between them.
    private mutating func rejoin(at now: MediaTime) {
        guard video.isBehindStep || audio.isBehindStep, !isNew(at: now), let offset else { return }
        for track in Track.allCases where self[track].isBehindStep {
            let distance = self[track].extra - self[track].home
            guard distance.magnitude <= Self.ahead else { continue }
            self[track].extra = self[track].home
            self.offset = offset + distance
        }
    }

    /// Maps a track by its arrival if its packets have been far behind those of the other one for some time.
    private mutating func separate(_ track: Track, at now: MediaTime) -> Bool {
        let other: Track = track == .video ? .audio : .video
        guard let lateness = self[track].steadyLateness, let reference = self[other].steadyLateness,
            lateness - reference > Self.apart
        else { return false }
        self[track].extra += (lateness - reference).rounded
        self[track].home = self[track].extra
        self[track].forgetLateness()
        movedAt = now
        return true
    }

    // MARK: Offset

    private mutating func remap(to offset: MediaTime, at arrival: MediaTime) {
        self.offset = offset.rounded
        movedAt = arrival
        windowStart = arrival
        windowMinimum = nil
        lastMinimum = nil
        correction = .zero
        excesses = []
        isBroken = false
    }

    /// Takes the smallest lateness of each window as the amount to correct. `lateness` is relative to the reference.
    ///
    /// - Returns: Whether the source on air was so late that its timeline stepped forward.
    private mutating func follow(lateness: MediaTime, arrival: MediaTime, isFixed: Bool, as role: Role) -> Bool {
        let reference = role.reference
        windowMinimum = min(windowMinimum ?? lateness + reference, lateness + reference)
        if isFixed, role.isLeaving, let least = lastMinimum.map({ min($0, windowMinimum ?? $0) }),
            least - reference > Self.behindWhenLeaving
        {
            return stepForward(by: least - reference, at: arrival)
        }
        guard let start = windowStart, let minimum = windowMinimum, arrival - start >= SourceClock.window else {
            return false
        }
        windowStart = arrival
        windowMinimum = nil
        lastMinimum = minimum
        guard let offset else { return false }
        let excess = minimum - reference
        if isFixed {
            if excess > Self.behind { return stepForward(by: excess, at: arrival) }
            noteExcess(excess)
            let isOff = excess.magnitude > .milliseconds(1)
            correction = (offset + (isOff ? excess : .zero)).rounded - offset
        } else {
            let moved = (offset + excess).rounded
            self.offset = moved
            lastMinimum = minimum - (moved - offset)
        }
        return false
    }

    private mutating func noteExcess(_ excess: MediaTime) {
        excesses.append(excess)
        guard excesses.count > 6 else { return }
        let before = excesses.removeFirst()
        let isSameWay = (before < .zero) == (excess < .zero)
        if isSameWay, excess.magnitude > before.magnitude + Self.outrunning { isOutrun = true }
        if excess.magnitude < Self.nearCorrection { isOutrun = false }
    }

    private mutating func stepForward(by amount: MediaTime, at arrival: MediaTime) -> Bool {
        guard let offset else { return false }
        let settled = movedAt
        remap(to: offset + amount, at: arrival)
        // No burst follows.
        movedAt = settled
        return true
    }

    private mutating func slew(after elapsed: MediaTime) {
        guard correction != .zero, let offset else { return }
        let far = isOutrun ? min(correction.inSeconds.magnitude / Self.farCorrection.inSeconds, 1) : 0
        let rate = Self.slewRate + (Self.fastestSlewRate - Self.slewRate) * far
        let limit = min(Int64(Double(max(elapsed.nanoseconds, 0)) * rate), Self.longestSlew.nanoseconds)
        let step = MediaTime(nanoseconds: min(max(correction.nanoseconds, -limit), limit))
        self.offset = offset + step
        slewed += step
        correction -= step
        lastMinimum = lastMinimum.map { $0 - step }
        windowMinimum = windowMinimum.map { $0 - step }
    }
}
