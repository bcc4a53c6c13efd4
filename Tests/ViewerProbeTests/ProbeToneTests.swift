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

    @Test(arguments: [7_500.0, 8_000, 11_000, 15_000]) func aClickOfAnyFrequencyIsReadAtItsLevel(
        frequency: Double
    ) throws {
        let clean = ProbeFixture.sound(seconds: 2)
        let clicking = ProbeFixture.clicking(clean, at: 50_000, frequency: frequency)
        let range = 40_000..<60_000
        let quiet = try #require(ToneAnalysis.bandClickLevel(clean, sampleRate: 48_000, range: range))
        let loud = try #require(ToneAnalysis.bandClickLevel(clicking, sampleRate: 48_000, range: range))
        #expect(quiet < -90)
        #expect(abs(loud + 50) < 2, "\(loud)")
    }

    @Test(arguments: [44_100, 48_000]) func tonesAndBeepsOfFourAreBelowTheBand(rate: Int) throws {
        var samples = [Float](repeating: 0, count: 2 * rate)
        for publisher in (1...4).map({ SyntheticPublisher(id: $0) }) {
            let steady = tone(Double(publisher.toneFrequency), rate: rate, count: samples.count)
            let beep = tone(Double(publisher.beepFrequency), rate: rate, count: rate / 25, amplitude: 0.3)
            for index in samples.indices { samples[index] += steady[index] }
            for index in beep.indices {
                let shape = sin(Double.pi * Double(index) / Double(beep.count))
                samples[rate + index] += beep[index] * Float(shape * shape)
            }
        }
        let level = try #require(
            ToneAnalysis.bandClickLevel(samples, sampleRate: rate, range: rate / 2..<rate * 3 / 2))
        #expect(level < -80, "\(level)")
    }

    @Test func theBandIsNotMeasuredWhereItContainsBeepsOrNothing() {
        let samples = ProbeFixture.sound(seconds: 1)
        #expect(ToneAnalysis.bandClickLevel(samples, sampleRate: 32_000, range: 0..<48_000) == nil)
        #expect(ToneAnalysis.bandClickLevel(samples, sampleRate: 48_000, range: 100..<162) == nil)
        #expect(ToneAnalysis.bandClickLevel(samples, sampleRate: 48_000, range: 100..<163) != nil)
        #expect(ToneAnalysis.bandClickLevel(samples, sampleRate: 48_000, range: 47_990..<60_000) == nil)
    }
}
