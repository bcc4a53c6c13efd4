import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

/// Another participant takes over from a mix: the frames are on other grids than the program's.
@Suite struct TakeoverTests {
    private static let guest: SourceID = "guest/camera"
    private static let interval = MediaTime.milliseconds(50)
    private static let audioFrame = MediaTime.units(1024, rate: 48000)

    private struct Result {
        var video: [EncodedFrame] = []
        var audio: [EncodedFrame] = []
        var shift = MediaTime.zero
        var splices: [Splice] = []

        mutating func take(_ actions: [Splicer.Action]) {
            for action in actions {
                switch action {
                case .emit(let frame) where frame.track == .video: video.append(frame)
                case .emit(let frame): audio.append(frame)
                case .shift(_, let amount): shift += amount
                case .switched(let splice): splices.append(splice)
                case .configure, .requestIDR: break
                }
            }
        }
    }

    @Test("the picture follows after exactly one frame, the sound without a step", arguments: Array(UInt64(1)...60))
    func takeover(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let result = run(
            videoPhase: .milliseconds(Int.random(in: 0...49, using: &random)),
            audioPhase: MediaTime(nanoseconds: Int64.random(in: 0...21_000_000, using: &random)))

        let times = result.video.map(\.pts).sorted()
        for (earlier, later) in zip(times, times.dropFirst()) {
            let deviation = (later - earlier - TakeoverTests.interval).magnitude
            #expect(deviation <= .milliseconds(2), "gap \(later - earlier) at \(later), seed \(seed)")
        }
        for (earlier, later) in zip(result.audio, result.audio.dropFirst()) {
            let deviation = (later.pts - earlier.pts - TakeoverTests.audioFrame).magnitude
            #expect(deviation <= MediaTime(nanoseconds: 250_000), "off by \(deviation) at \(later.pts), seed \(seed)")
        }
        let splice = try #require(result.splices.last)
        #expect(splice.to == .source(TakeoverTests.guest))
    }

    /// A mix that shows the guest, frame by frame.
    private struct Showing {
        /// Delay after the guest's own time.
        var delay: MediaTime
        /// Lateness of the guest's packets.
        var lateness = MediaTime.zero
        /// Time from a packet to the frame of the mix that shows it.
        var latency: MediaTime
        var isTold = true
    }

    @Test(
        "of one whom the mix shows no frame is lost or repeated, however much later it shows them",
        arguments: Array(UInt64(1)...200))
    func shownLater(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let showing = Showing(
            delay: .milliseconds(Int.random(in: -25...72, using: &random)),
            lateness: .milliseconds(Int.random(in: 0...400, using: &random)),
            latency: .milliseconds(Int.random(in: 2...150, using: &random)))
        let result = run(videoPhase: -showing.delay, audioPhase: -showing.delay, showing: showing)

        expectNothingLost(result, "\(showing), seed \(seed)")
        // The IDR at 1.2 s is the first after the request, unless an earlier one exists.
        let splice = try #require(result.splices.last)
        #expect(splice.to == .source(TakeoverTests.guest) && splice.at < .seconds(1.3), "\(showing), seed \(seed)")
    }

    @Test("one who is later than their mix waits for is taken at the second IDR", arguments: [80, 130, 400, 1000])
    func tooLate(delay: Int) throws {
        let showing = Showing(delay: .milliseconds(delay), latency: .milliseconds(10), isTold: false)
        let result = run(videoPhase: -showing.delay, audioPhase: -showing.delay, showing: showing)
        expectNothingLost(result, "\(showing)")
        let splice = try #require(result.splices.last)
        #expect(splice.to == .source(TakeoverTests.guest) && splice.at < .seconds(3.7), "\(splice)")
    }

    private func expectNothingLost(_ result: Result, _ comment: Comment) {
        for (frames, length) in [(result.video, Self.interval), (result.audio, Self.audioFrame)] {
            for (earlier, later) in zip(frames, frames.dropFirst()) {
                let step = Content(later.payload).index - Content(earlier.payload).index
                #expect(step == 1, "steps by \(step) at \(later.pts); \(comment)")
                let gap = later.pts - earlier.pts
                #expect((gap - length).magnitude <= .milliseconds(1), "gap \(gap) at \(later.pts); \(comment)")
            }
        }
    }

    @Test("sound and picture of the new one are exact against each other again within two seconds")
    func lipSync() throws {
        let result = run(videoPhase: .milliseconds(17), audioPhase: .milliseconds(9))
        let guestAudio = result.audio.filter { Content($0.payload).isMixed == false }
        let late = try #require(guestAudio.dropFirst(94).first)
        let original = MediaTime.milliseconds(9) + TakeoverTests.audioFrame * Int64(Content(late.payload).index)
        #expect((late.pts - original - result.shift).magnitude < MediaTime(nanoseconds: 100_000))
    }

    /// Runs a mix for one second, then the guest, whose keyframe comes at about 1.2 s.
    private func run(videoPhase: MediaTime, audioPhase: MediaTime, showing: Showing? = nil) -> Result {
        var splicer = Splicer()
        var result = Result()
        let mixer = SpliceInput.mixer(1)
        let guest = SpliceInput.source(TakeoverTests.guest)
        for feed in [mixer, guest] {
            splicer.configure(feed, CodecConfiguration(track: .video, bytes: [feed.isMixer ? 1 : 2]))
            splicer.configure(feed, CodecConfiguration(track: .audio, bytes: [0x11, 0x90]))
            splicer.setInterval(TakeoverTests.interval, of: feed)
        }
        if let showing, showing.isTold { splicer.setDelays([TakeoverTests.guest: showing.delay], in: mixer) }
        let lateness = showing?.lateness ?? .zero
        var arrivals: [(time: MediaTime, feed: SpliceInput, frame: EncodedFrame)] = []
        for index in 0..<120 {
            let time = TakeoverTests.interval * Int64(index)
            let own = time + videoPhase
            let made = showing.map { own + lateness + $0.latency } ?? time + .milliseconds(15)
            arrivals.append((made, mixer, video(at: time, index, isMixed: true, isIDR: index == 0)))
            arrivals.append((own + lateness, guest, video(at: own, index, isMixed: false, isIDR: index % 24 == 0)))
        }
        for index in 0..<280 {
            let time = TakeoverTests.audioFrame * Int64(index)
            arrivals.append((time + lateness + .milliseconds(35), mixer, audio(at: time, index, isMixed: true)))
            let own = time + audioPhase
            arrivals.append((own + lateness + .milliseconds(21), guest, audio(at: own, index, isMixed: false)))
        }
        result.take(splicer.setTarget(mixer, now: .zero))
        for (time, feed, frame) in arrivals.sorted(by: { $0.time < $1.time }) {
            if time > .seconds(1) { result.take(splicer.setTarget(guest, now: time)) }
            // From the splice on, the guest's frames are shifted, as in its relay.
            result.take(splicer.frame(feed == guest ? frame.shifted(by: result.shift) : frame, of: feed, now: time))
        }
        return result
    }

    private func video(at time: MediaTime, _ index: Int, isMixed: Bool, isIDR: Bool) -> EncodedFrame {
        EncodedFrame(
            track: .video, pts: time, dts: time, isIDR: isIDR,
            payload: Content(isMixed: isMixed, index: index).payload)
    }

    private func audio(at time: MediaTime, _ index: Int, isMixed: Bool) -> EncodedFrame {
        EncodedFrame(track: .audio, pts: time, dts: time, payload: Content(isMixed: isMixed, index: index).payload)
    }
}
