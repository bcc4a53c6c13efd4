import EncodedMedia
import MixModel
import Testing

@testable import ProgramSplicer

/// The splicer while the source on air does not deliver.
@Suite struct StalledBypassTests {
    private static let host = SpliceInput.source("host/camera")
    private static let frame = MediaTime.units(1024, rate: 48000)

    private static func video(_ ms: Int, idr: Bool = false) -> EncodedFrame {
        EncodedFrame(track: .video, pts: .milliseconds(ms), dts: .milliseconds(ms), isIDR: idr, payload: [1])
    }

    private static func sound(_ index: Int64) -> EncodedFrame {
        let time = MediaTime.units(index * 1024, rate: 48000)
        return EncodedFrame(track: .audio, pts: time, dts: time, payload: [2])
    }

    /// Returns a bypass with pictures until 2 s and sound until 1 s.
    private static func bypass(audio: [UInt8] = [0x11, 0x90]) -> Splicer {
        var splicer = Splicer()
        splicer.configure(host, CodecConfiguration(track: .video, bytes: [1]))
        splicer.configure(host, CodecConfiguration(track: .audio, bytes: audio))
        splicer.setInterval(.milliseconds(50), of: host)
        _ = splicer.setTarget(host, now: .zero)
        for index in 0...40 {
            let now = MediaTime.milliseconds(index * 50)
            _ = splicer.frame(video(index * 50, idr: index % 20 == 0), of: host, now: now)
            for sound in 0..<47 where MediaTime.units(Int64(sound) * 1024, rate: 48000) <= now {
                if MediaTime.units(Int64(sound + 1) * 1024, rate: 48000) > now - .milliseconds(50) {
                    _ = splicer.frame(self.sound(Int64(sound)), of: host, now: now)
                }
            }
        }
        return splicer
    }

    private static func emitted(_ actions: [Splicer.Action]) -> [EncodedFrame] {
        actions.compactMap { if case .emit(let frame) = $0 { frame } else { nil } }
    }

    @Test func missingSoundIsFilledWithSilenceUpToThePicture() throws {
        var splicer = Self.bypass()
        let filled = Self.emitted(splicer.fillSound(of: Self.host))
        // Frames 47 to 92 end by 2 s.
        let first = try #require(filled.first).pts
        #expect((first - .units(47 * 1024, rate: 48000)).magnitude < .milliseconds(1))
        #expect(filled.count == 46 && filled.allSatisfy { $0.track == .audio && $0.payload.count == 9 })
        let steps = zip(filled, filled.dropFirst()).map { $1.pts - $0.pts }
        #expect(steps.allSatisfy { ($0 - Self.frame).magnitude < .milliseconds(1) })
        #expect(splicer.fillSound(of: Self.host).isEmpty)
        // Late sound is left out, and the sound continues without a step.
        #expect(Self.emitted(splicer.frame(Self.sound(92), of: Self.host, now: .seconds(2))).isEmpty)
        let next = Self.emitted(splicer.frame(Self.sound(93), of: Self.host, now: .seconds(2)))
        #expect(next.map(\.payload) == [[2]])
        #expect((try #require(next.first).pts - filled[45].pts - Self.frame).magnitude < .milliseconds(1))
    }

    @Test func aLongSilenceComesInPieces() {
        var splicer = Self.bypass()
        for index in 41...400 {
            _ = splicer.frame(
                Self.video(index * 50, idr: index % 20 == 0), of: Self.host, now: .milliseconds(index * 50))
        }
        #expect(Self.emitted(splicer.fillSound(of: Self.host)).count == AudioLane.mostSilence)
        #expect(Self.emitted(splicer.fillSound(of: Self.host)).count == AudioLane.mostSilence)
    }

    /// Five channels, or an unreadable configuration, have no known silence.
    @Test(arguments: [[0x11, 0xA8], [0xFF]] as [[UInt8]])
    func aFormatWithoutAKnownSilenceIsNotFilled(audio: [UInt8]) {
        var splicer = Self.bypass(audio: audio)
        #expect(splicer.fillSound(of: Self.host).isEmpty)
    }

    @Test func aMixerThatRunsAlreadyIsAskedForAnIDROnce() {
        var splicer = Self.bypass()
        let mixer = SpliceInput.mixer(7)
        splicer.configure(mixer, CodecConfiguration(track: .video, bytes: [3]))
        splicer.setInterval(.milliseconds(50), of: mixer)
        // The mixer ran ahead without being shown; its last IDR is long past.
        _ = splicer.frame(Self.video(2050), of: mixer, now: .seconds(2))
        _ = splicer.setTarget(mixer, now: .milliseconds(2251))
        _ = splicer.ended(Self.host, now: .milliseconds(2251))
        let asked = splicer.frame(Self.video(2250), of: mixer, now: .milliseconds(2260))
        #expect(asked == [.requestIDR(generation: 7, at: .milliseconds(2300))])
        #expect(splicer.frame(Self.video(2300), of: mixer, now: .milliseconds(2310)).isEmpty)
        _ = splicer.frame(Self.video(2350, idr: true), of: mixer, now: .milliseconds(2360))
        #expect(splicer.onAir == mixer)
    }

    /// A frame that comes late, but before the mixer has taken over, is shown.
    @Test func aLateFrameIsNotLost() {
        var splicer = Self.bypass()
        _ = splicer.setTarget(.mixer(1), now: .milliseconds(2251))
        _ = splicer.ended(Self.host, now: .milliseconds(2251))
        let late = Self.emitted(splicer.frame(Self.video(2050), of: Self.host, now: .milliseconds(2255)))
        #expect(late.map(\.pts) == [.milliseconds(2050)])
    }
}
