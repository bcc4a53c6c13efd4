import TestSupport

@testable import EncodedMedia

/// A publisher and the server in front of it: pictures and sound in the order in which they reach a relay, with clocks
/// that step and drift, and connections that are replaced.
struct SimulatedPublisher {
    struct Arrival {
        var time: MediaTime
        var frame: EncodedFrame
        /// Recording time of the frame.
        var recorded: MediaTime
    }

    var fps = 25
    /// Pictures from IDR to IDR.
    var gop = 50
    /// B-frames between two other pictures. The last ones of a group are followed by the picture that they reference.
    var reorder = 0
    var jitter = MediaTime.milliseconds(30)
    /// Time on the publisher's clock per elapsed time.
    var rate = 1.0

    private var random: SeededGenerator
    private var now = MediaTime.zero
    /// Publisher's timestamp minus recording time.
    private var epoch: MediaTime
    private var delay = MediaTime.zero
    private var nextPicture = 0
    private var nextSound = 0
    private var cached: [Arrival] = []
    private var lastArrival = MediaTime.zero
    private var serial = 0

    init(using random: inout SeededGenerator) {
        self.random = SeededGenerator(seed: random.next())
        epoch = .milliseconds(Int.random(in: 0...1_000_000, using: &self.random))
    }

    /// Returns the arrivals within the next `seconds`.
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
            arrivals.append(numbered(arrival))
        }
        now = end
        return arrivals
    }

    /// Lets the publisher's clock step, for both tracks.
    mutating func step(by amount: MediaTime) { epoch += amount }

    /// Makes everything arrive later, or sooner, from now on.
    mutating func delay(by amount: MediaTime) { delay = max(.zero, delay + amount) }

    /// Delays all packets that are sent within `amount`; they arrive at once.
    mutating func hold(for amount: MediaTime) { lastArrival = max(lastArrival, now + amount) }

    /// Ends the connection, and makes another one after `gap`, on which the server first sends its cache.
    ///
    /// - Parameter isRebased: Whether the server restarts timestamps for each connection.
    mutating func reconnect(after gap: MediaTime, isRebased: Bool) -> [Arrival] {
        let start = now + gap
        // Frames recorded in the meantime are in the cache.
        _ = play(gap.inSeconds)
        let change = isRebased ? -(cached.first?.frame.dts ?? .zero) : .zero
        epoch += change
        lastArrival = max(lastArrival, start)
        return cached.map { arrival in
            lastArrival += .milliseconds(1)
            var arrival = numbered(arrival)
            arrival.frame.pts += change
            arrival.frame.dts += change
            arrival.time = lastArrival
            return arrival
        }
    }

    /// Returns an arrival with its own number in its payload (`Content`).
    private mutating func numbered(_ arrival: Arrival) -> Arrival {
        serial += 1
        var arrival = arrival
        arrival.frame.payload = Content(isMixed: false, index: serial).payload
        return arrival
    }

    private mutating func picture(_ time: MediaTime) -> Arrival {
        defer { nextPicture += 1 }
        let dts = stamp(time)
        // Presentation is one picture behind decoding.
        let pts = reorder > 0 ? stamp(.units(Int64(shown(nextPicture) + 1), rate: fps)) : dts
        let frame = EncodedFrame(track: .video, pts: pts, dts: dts, isIDR: nextPicture % gop == 0, payload: [])
        return Arrival(time: time, frame: frame, recorded: time)
    }

    /// Returns the display position of the picture with a position in decoding order.
    private func shown(_ decoded: Int) -> Int {
        let (begin, place) = (decoded / gop * gop, decoded % gop)
        guard place > 0 else { return decoded }
        let (group, part) = (place - 1).quotientAndRemainder(dividingBy: reorder + 1)
        let before = begin + group * (reorder + 1)
        return part == 0 ? min(before + reorder + 1, begin + gop - 1) : before + part
    }

    private mutating func sound(_ time: MediaTime) -> Arrival {
        defer { nextSound += 1 }
        let stamp = stamp(time)
        return Arrival(
            time: time, frame: EncodedFrame(track: .audio, pts: stamp, dts: stamp, payload: []), recorded: time)
    }

    private func stamp(_ time: MediaTime) -> MediaTime { (.seconds(time.inSeconds * rate) + epoch).rounded }
}
