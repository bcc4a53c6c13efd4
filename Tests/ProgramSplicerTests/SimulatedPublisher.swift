import TestSupport

@testable import EncodedMedia

/// A publisher and the server in front of it: pictures and sound in the order in which they reach a relay, with clocks
/// that step and drift, and connections that are made anew.
struct SimulatedPublisher {
    struct Arrival {
        var time: MediaTime
        var frame: EncodedFrame
        /// Time at which it was recorded.
        var recorded: MediaTime
    }

    var fps = 25
    /// Pictures from IDR to IDR.
    var gop = 50
    /// Pictures by which decoding runs ahead of presentation.
    var reorder = 0
    var jitter = MediaTime.milliseconds(30)
    /// Time on the publisher's clock per elapsed time.
    var rate = 1.0

    private var random: SeededGenerator
    private var now = MediaTime.zero
    /// Publisher's timestamp minus time recorded.
    private var epoch: MediaTime
    private var delay = MediaTime.zero
    private var nextPicture = 0
    private var nextSound = 0
    private var cached: [Arrival] = []
    private var lastArrival = MediaTime.zero

    init(using random: inout SeededGenerator) {
        self.random = SeededGenerator(seed: random.next())
        epoch = .milliseconds(Int.random(in: 0...1_000_000, using: &self.random))
    }

    /// What arrives within the next `seconds`.
    mutating func play(_ seconds: Double) -> [Arrival] {
        let end = now + .seconds(seconds)
        var arrivals: [Arrival] = []
        while true {
            let picture = MediaTime.units(Int64(nextPicture), rate: fps)
            let sound = MediaTime.units(Int64(nextSound) * 1024, rate: 48000)
            guard min(picture, sound) < end else { break }
            var arrival = picture <= sound ? self.picture(picture) : self.sound(sound)
            if arrival.frame.isIDR { cached = [] }
            cached.append(arrival)
            let extra = MediaTime(nanoseconds: Int64.random(in: 0...jitter.nanoseconds, using: &random))
            arrival.time = max(lastArrival, arrival.recorded + delay + extra)
            lastArrival = arrival.time
            arrivals.append(arrival)
        }
        now = end
        return arrivals
    }

    /// Lets the publisher's clock step, for both tracks.
    mutating func step(by amount: MediaTime) { epoch += amount }

    /// Lets everything arrive later, or sooner, from now on.
    mutating func delay(by amount: MediaTime) { delay = max(.zero, delay + amount) }

    /// Ends the connection, and makes another one after `gap`, on which the server first sends what it has cached.
    ///
    /// - Parameter isRebased: Whether the server counts timestamps anew for each connection.
    mutating func reconnect(after gap: MediaTime, isRebased: Bool) -> [Arrival] {
        let start = now + gap
        // What is recorded in the meantime is in the cache.
        _ = play(gap.inSeconds)
        let change = isRebased ? -(cached.first?.frame.dts ?? .zero) : .zero
        epoch += change
        lastArrival = max(lastArrival, start)
        return cached.map { arrival in
            lastArrival += .milliseconds(1)
            var arrival = arrival
            arrival.frame.pts += change
            arrival.frame.dts += change
            arrival.time = lastArrival
            return arrival
        }
    }

    private mutating func picture(_ time: MediaTime) -> Arrival {
        defer { nextPicture += 1 }
        let dts = stamp(time)
        let pts = reorder > 0 && nextPicture % 3 == 0 ? dts + .units(Int64(reorder), rate: fps).rounded : dts
        let frame = EncodedFrame(
            track: .video, pts: pts, dts: dts, isIDR: nextPicture % gop == 0, payload: [0, 0, 0, 1, 0x65])
        return Arrival(time: time, frame: frame, recorded: time)
    }

    private mutating func sound(_ time: MediaTime) -> Arrival {
        defer { nextSound += 1 }
        let stamp = stamp(time)
        return Arrival(
            time: time, frame: EncodedFrame(track: .audio, pts: stamp, dts: stamp, payload: [1]), recorded: time)
    }

    private func stamp(_ time: MediaTime) -> MediaTime { (.seconds(time.inSeconds * rate) + epoch).rounded }
}
