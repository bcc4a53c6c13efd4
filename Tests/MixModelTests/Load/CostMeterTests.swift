import MixModel
import Testing

@testable import EncodedMedia

/// A measurement covers a time in which nothing changed, or is not made.
@Suite struct CostMeterTests {
    private static let bypass = Workload(copies: 2)
    private static let mix = Workload(
        copies: 3, mix: Workload.Mix(composed: 20, decoded: 40, scaled: 20, sounds: 2))

    private static func load(_ second: Int, mixer: Int32? = nil, cores: Double = 0.3, divisor: Int = 1) -> RelayLoad {
        RelayLoad(
            relaySeconds: Double(second) * 0.01,
            mixer: mixer.map {
                MixerLoad(
                    processID: $0, cpuSeconds: 7 + Double(second) * cores, frameDivisor: divisor, pace: FramePace())
            })
    }

    @Test func aSteadyMixIsMeasuredEveryFewSecondsAfterItsStart() throws {
        var meter = CostMeter()
        var measured: [(second: Int, CostMeasurement)] = []
        for second in 0...14 {
            let result = meter.take(Self.load(second, mixer: 5), workload: Self.mix, at: .seconds(Double(second)))
            if let result { measured.append((second, result)) }
        }
        // The meter lets the load settle for three seconds and then measures for five.
        #expect(measured.map(\.second) == [8, 13])
        for (_, measurement) in measured {
            #expect(abs(measurement.relayCores - 0.01) < 1e-9)
            #expect(abs((measurement.mixerCores ?? 0) - 0.3) < 1e-9)
            #expect(measurement.workload == Self.mix)
        }
    }

    @Test func whatChangesMeanwhileIsNotMeasured() {
        var meter = CostMeter()
        for second in 0...60 {
            // A participant joins or leaves every six seconds.
            let workload = second / 6 % 2 == 0 ? Self.bypass : Self.mix
            let mixer: Int32? = second / 6 % 2 == 0 ? nil : 5
            #expect(
                meter.take(Self.load(second, mixer: mixer), workload: workload, at: .seconds(Double(second))) == nil)
        }
    }

    @Test func anotherMixerAndOtherFramesAreOtherWork() {
        var meter = CostMeter()
        for second in 0...7 {
            _ = meter.take(Self.load(second, mixer: 5), workload: Self.mix, at: .seconds(Double(second)))
        }
        #expect(meter.take(Self.load(8, mixer: 6), workload: Self.mix, at: .seconds(8)) == nil)
        for second in 9...15 {
            _ = meter.take(Self.load(second, mixer: 6), workload: Self.mix, at: .seconds(Double(second)))
        }
        #expect(meter.take(Self.load(16, mixer: 6, divisor: 2), workload: Self.mix, at: .seconds(16)) == nil)
        var last: CostMeasurement?
        for second in 17...30 {
            last =
                meter.take(Self.load(second, mixer: 6, divisor: 2), workload: Self.mix, at: .seconds(Double(second)))
                ?? last
        }
        #expect(last?.workload == Self.mix.divided(by: 2))
    }

    /// A mixer that lingers after a mix, or warms up for one, does not belong to the plan.
    @Test func aMixerBesideABypassIsNotMeasured() {
        var meter = CostMeter()
        for second in 0...30 {
            #expect(
                meter.take(Self.load(second, mixer: 5), workload: Self.bypass, at: .seconds(Double(second))) == nil)
        }
    }

    @Test func framesAreCountedByHowTheyCame() {
        var pace = FramePace()
        let interval = MediaTime.milliseconds(50)
        func take(_ millisecond: Int, after: Int) {
            pace.take(
                pts: .milliseconds(millisecond), now: .milliseconds(millisecond + after), origin: .zero,
                interval: interval)
        }
        // The program started in the past.
        for frame in 0...40 { take(frame * 50, after: 900) }
        #expect((pace.made, pace.late, pace.missing) == (41, 0, 0))
        take(2050, after: 60)
        take(2100, after: 251)
        take(2250, after: 60)
        #expect((pace.made, pace.late, pace.missing) == (44, 1, 2))
    }
}
