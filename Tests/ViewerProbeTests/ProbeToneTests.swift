import Foundation
import Testing

@testable import ViewerProbe

@Suite struct ProbeToneTests {
    private func tone(_ frequency: Double, rate: Int, count: Int, amplitude: Double = 0.1, phase: Double = 0) -> [Float]
    {
        (0..<count).map { Float(amplitude * sin(2 * Double.pi * frequency * Double($0) / Double(rate) + phase)) }
    }

    @Test(arguments: [44100, 48000]) func amplitudeAndPhaseAreMeasuredBesideAnotherTone(rate: Int) throws {
        let mix = zip(tone(550, rate: rate, count: rate, phase: 1), tone(660, rate: rate, count: rate)).map(+)
        let first = try #require(
            ToneAnalysis.tone(mix, sampleRate: rate, frequency: 550, centre: rate / 4, length: rate / 10))
        let second = try #require(
            ToneAnalysis.tone(mix, sampleRate: rate, frequency: 550, centre: rate / 2, length: rate / 10))
        #expect(abs(first.amplitude - 0.1) < 0.002)
        #expect(abs(ToneAnalysis.phaseJump(from: first.phase, to: second.phase)) < 0.5)
        #expect(ToneAnalysis.tone(mix, sampleRate: rate, frequency: 550, centre: 10, length: rate / 10) == nil)
    }

    @Test func fiveMissingSamplesAreAPhaseJump() throws {
        var samples = tone(550, rate: 48000, count: 48000)
        samples.removeSubrange(24000..<24005)
        let before = try #require(
            ToneAnalysis.tone(samples, sampleRate: 48000, frequency: 550, centre: 18000, length: 4800))
        let after = try #require(
            ToneAnalysis.tone(samples, sampleRate: 48000, frequency: 550, centre: 30000, length: 4800))
        let expected = 5.0 / 48000 * 550 * 360
        #expect(abs(ToneAnalysis.phaseJump(from: before.phase, to: after.phase) - expected) < 0.5)
    }

    @Test func beepsAreFoundToAFractionOfAMillisecondBesideOtherSources() {
        var samples = ProbeFixture.sound(seconds: 4)
        // Another source beeps 10 ms later on its own frequency.
        let other = SyntheticPublisher(id: 2)
        for second in 0..<4 {
            for index in 0..<1920 {
                let shape = sin(Double.pi * Double(index) / 1920)
                samples[second * 48000 + 480 + index] += Float(
                    0.3 * shape * shape * sin(2 * Double.pi * Double(other.beepFrequency * index) / 48000))
            }
        }
        let host = ToneAnalysis.beeps(
            samples, sampleRate: 48000, frequency: Double(ProbeFixture.host.beepFrequency), threshold: 0.075)
        let guest = ToneAnalysis.beeps(
            samples, sampleRate: 48000, frequency: Double(other.beepFrequency), threshold: 0.075)
        #expect(host.count == 4 && guest.count == 4)
        for (second, beep) in host.enumerated() {
            #expect(abs(beep - Double(second * 48000 + 960)) < 15, "\(beep)")
        }
        for (second, beep) in guest.enumerated() {
            #expect(abs(beep - Double(second * 48000 + 480 + 960)) < 15, "\(beep)")
        }
    }

    @Test func aStepIsLouderThanTonesAndBeeps() throws {
        let clean = ProbeFixture.sound(seconds: 2)
        let quiet = try #require(ToneAnalysis.clickLevel(clean, range: 40000..<60000))
        var stepped = clean
        for index in 50000..<stepped.count { stepped[index] += 0.001 }
        let loud = try #require(ToneAnalysis.clickLevel(stepped, range: 40000..<60000))
        #expect(quiet < -80)
        #expect(abs(loud - 20 * log10(0.001)) < 1)
    }
}
