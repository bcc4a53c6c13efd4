import EncodedMedia
import MixModel
import Testing

@testable import ProgramSplicer

@Suite struct MixerGateTests {
    private func frame(_ track: Track = .video, at time: MediaTime) -> MixerReport {
        .frame(EncodedFrame(track: track, pts: time, dts: time, payload: [1]))
    }

    private func configuration(_ number: Int) -> MixerReport {
        .configuration(CodecConfiguration(track: .video, bytes: [UInt8(truncatingIfNeeded: number)]))
    }

    /// A mixer of the largest program stood still for a minute. It delivers everything at once, and goes on 250 ms early.
    @Test func aMixerThatCatchesUpPasses() throws {
        var gate = MixerGate()
        for picture in 0..<60 * 120 {
            let time = MediaTime.units(Int64(picture), rate: 60)
            let now: MediaTime = max(.seconds(60), time - .milliseconds(250))
            try gate.check(.delays(["host/camera": .milliseconds(40)]), now: now)
            try gate.check(frame(at: time), now: now)
            if picture % 4 < 3 { try gate.check(frame(.audio, at: time), now: now) }
        }
    }

    @Test(arguments: [
        MixerReport.frame(EncodedFrame(track: .video, pts: .zero, dts: .zero, payload: [])), .volumes([:]),
        .note(code: "image-failed", message: "logo.png"),
    ])
    func endlessReportsAreRefused(_ report: MixerReport) throws {
        var gate = MixerGate()
        for _ in 0..<12_000 { try gate.check(report, now: .zero) }
        #expect(throws: MixerGate.Excess.rate(.items(perSecond: 500))) { try gate.check(report, now: .zero) }
        try gate.check(report, now: .milliseconds(10))
    }

    /// Pictures 1 ms apart as fast as a socket takes them would move the program ahead by seconds each second.
    @Test(arguments: [Track.video, .audio])
    func framesAheadOfTheClockAreRefused(_ track: Track) throws {
        var gate = MixerGate()
        for step in 0...1_000 { try gate.check(frame(track, at: .seconds(9) + .milliseconds(step)), now: .seconds(9)) }
        #expect(throws: MixerGate.Excess.early) {
            try gate.check(frame(track, at: .seconds(9) + .milliseconds(1_001)), now: .seconds(9))
        }
        let shown = MixerReport.frame(
            EncodedFrame(track: track, pts: MediaTime(nanoseconds: .max), dts: .seconds(9), payload: []))
        #expect(throws: MixerGate.Excess.early) { try gate.check(shown, now: .seconds(9)) }
    }

    @Test func alternatingConfigurationsAreRefused() throws {
        var gate = MixerGate()
        for number in 0..<16 { try gate.check(configuration(number % 2), now: .zero) }
        #expect(throws: MixerGate.Excess.rate(.configurations(perMinute: 30))) {
            try gate.check(configuration(2), now: .zero)
        }
    }

    @Test func excessIsSaid() {
        #expect("\(MixerGate.Excess.early)" == "it sends frames more than 1 s before their time")
        #expect("\(MixerGate.Excess.rate(.items(perSecond: 500)))" == "it sends more than 500 messages per second")
    }
}
