import MixModel
import TestSupport
import Testing

@testable import ProgramSplicer

/// Another person takes over from a mix: their frames lie on other grids than the program's.
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

    @Test("sound and picture of the new one are exact against each other again within two seconds")
    func lipSync() throws {
        let result = run(videoPhase: .milliseconds(17), audioPhase: .milliseconds(9))
        let guestAudio = result.audio.filter { Content($0.payload).isMixed == false }
        let late = try #require(guestAudio.dropFirst(94).first)
        let original = MediaTime.milliseconds(9) + TakeoverTests.audioFrame * Int64(Content(late.payload).index)
        #expect((late.pts - original - result.shift).magnitude < MediaTime(nanoseconds: 100_000))
    }

    /// A mix for one second, then the guest, whose keyframe comes at about 1.2 s.
    private func run(videoPhase: MediaTime, audioPhase: MediaTime) -> Result {
        var splicer = Splicer()
        var result = Result()
        let mixer = Feed.mixer(1)
        let guest = Feed.source(TakeoverTests.guest)
        for feed in [mixer, guest] {
            splicer.configure(feed, CodecConfiguration(track: .video, bytes: [feed.isMixer ? 1 : 2]))
            splicer.configure(feed, CodecConfiguration(track: .audio, bytes: [0x11, 0x90]))
            splicer.setInterval(TakeoverTests.interval, of: feed)
        }
        var arrivals: [(time: MediaTime, feed: Feed, frame: EncodedFrame)] = []
        for index in 0..<120 {
            let time = TakeoverTests.interval * Int64(index)
            arrivals.append((time + .milliseconds(15), mixer, video(at: time, index, isMixed: true, isIDR: index == 0)))
            let own = time + videoPhase
            arrivals.append((own, guest, video(at: own, index, isMixed: false, isIDR: index % 24 == 0)))
        }
        for index in 0..<280 {
            let time = TakeoverTests.audioFrame * Int64(index)
            arrivals.append((time + .milliseconds(35), mixer, audio(at: time, index, isMixed: true)))
            let own = time + audioPhase
            arrivals.append((own + .milliseconds(21), guest, audio(at: own, index, isMixed: false)))
        }
        result.take(splicer.setTarget(mixer, now: .zero))
        for (time, feed, frame) in arrivals.sorted(by: { $0.time < $1.time }) {
            if time > .seconds(1) { result.take(splicer.setTarget(guest, now: time)) }
            // From the splice on the guest is mapped with the shift, as its relay does.
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
