import TestSupport

@testable import EncodedMedia

/// The content of a simulated frame, carried in its payload so that the receiver can identify it.
struct Content: Hashable {
    var isMixed: Bool
    /// Number of the host's frame that is seen or heard.
    var index: Int
    /// Whether it is an anchor (I or P); B-frames need the anchors on both sides.
    var isAnchor: Bool

    var payload: [UInt8] {
        [isMixed ? 1 : 0, isAnchor ? 1 : 0] + (0..<4).map { UInt8(truncatingIfNeeded: index >> (8 * $0)) }
    }

    init(isMixed: Bool, index: Int, isAnchor: Bool = true) {
        self.isMixed = isMixed
        self.index = index
        self.isAnchor = isAnchor
    }

    init(_ payload: [UInt8]) {
        isMixed = payload[0] == 1
        isAnchor = payload[1] == 1
        index = (0..<4).reduce(0) { $0 | Int(payload[2 + $1]) << (8 * $1) }
    }
}

/// A publisher: frames in decoding order, timestamps rounded to ms as in RTMP, each with its time of arrival.
struct SimulatedSource {
    var fps = 20
    /// B-frames between two anchors.
    var bFrames = 0
    /// Frames from IDR to IDR, a multiple of `bFrames + 1`.
    var gop = 40
    var sampleRate = 48000
    var hasAudio = true
    /// Program time of frame 0.
    var phase = MediaTime.zero
    /// Largest extra delay in transit.
    var jitter = MediaTime.milliseconds(8)

    struct Arrival {
        var time: MediaTime
        var frame: EncodedFrame
    }

    func arrivals(seconds: Double, using random: inout SeededGenerator) -> [Arrival] {
        var result: [Arrival] = []
        let count = Int(seconds * Double(fps)) / gop * gop
        let reorder = bFrames > 0 ? 1 : 0
        var lastArrival = MediaTime.zero
        for (position, index) in decodingOrder(count: count).enumerated() {
            let pts = phase + .units(Int64(index), rate: fps)
            let dts = phase + .units(Int64(position - reorder), rate: fps)
            let isIDR = index % gop == 0
            let isAnchor = isIDR || index % (bFrames + 1) == 0 || index % gop == gop - 1
            let sent = phase + .units(Int64(position), rate: fps)
            let delay = MediaTime(nanoseconds: Int64.random(in: 0...jitter.nanoseconds, using: &random))
            lastArrival = max(lastArrival, sent + delay)
            result.append(
                Arrival(
                    time: lastArrival,
                    frame: EncodedFrame(
                        track: .video, pts: pts.rounded, dts: dts.rounded, isIDR: isIDR,
                        payload: Content(isMixed: false, index: index, isAnchor: isAnchor).payload)))
        }
        guard hasAudio else { return result }
        let audioCount = Int(seconds * Double(sampleRate) / 1024)
        var audioArrival = MediaTime.zero
        for index in 0..<audioCount {
            let pts = phase + .units(Int64(index) * 1024, rate: sampleRate)
            let delay = MediaTime(nanoseconds: Int64.random(in: 0...jitter.nanoseconds, using: &random))
            audioArrival = max(audioArrival, pts + .units(1024, rate: sampleRate) + delay)
            result.append(
                Arrival(
                    time: audioArrival,
                    frame: EncodedFrame(
                        track: .audio, pts: pts, dts: pts,
                        payload: Content(isMixed: false, index: index).payload)))
        }
        return result.sorted { $0.time < $1.time }
    }

    /// Returns I0 P3 B1 B2 P6 …; the last frames of a GOP close it.
    private func decodingOrder(count: Int) -> [Int] {
        guard bFrames > 0 else { return Array(0..<count) }
        var order: [Int] = []
        for start in stride(from: 0, to: count, by: gop) {
            order.append(start)
            var previous = start
            while previous < start + gop - 1 {
                let anchor = min(previous + bFrames + 1, start + gop - 1)
                order.append(anchor)
                order += (previous + 1)..<anchor
                previous = anchor
            }
        }
        return order
    }
}

/// A mixer that shows the host frame of each tick, `latency` after that frame has arrived.
struct SimulatedMixer {
    let generation: Int
    let origin: MediaTime
    let fps: Int
    let latency: MediaTime
    var requests: [MediaTime] = []
    var nextTick = 0

    var nextTime: MediaTime { origin + .units(Int64(nextTick), rate: fps) }

    /// Returns the frame of a tick; `nil` when the frame is left out.
    mutating func tick(showing index: Int, divisor: Int) -> EncodedFrame? {
        let time = nextTime
        let half = MediaTime.units(1, rate: fps) / 2
        // An IDR that was requested too late is made as soon as possible.
        let isIDR = nextTick == 0 || requests.contains { time - $0 >= -half }
        requests.removeAll { $0 < time + half }
        defer { nextTick += 1 }
        guard isIDR || nextTick % divisor == 0 else { return nil }
        return EncodedFrame(
            track: .video, pts: time, dts: time, isIDR: isIDR,
            payload: Content(isMixed: true, index: index).payload)
    }
}
