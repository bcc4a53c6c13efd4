import Testing

@testable import PageCapture

/// Capturing in step with what the browser paints.
struct PaintTicksTests {
    @Test("a capture has the period of the browser's ticks, if its rate divides theirs")
    func periods() {
        #expect(PaintTicks.fraction(frameRate: 60) == "1000000/16666")
        #expect(PaintTicks.fraction(frameRate: 30) == "1000000/33332")
        #expect(PaintTicks.fraction(frameRate: 20) == "1000000/49998")
        #expect(PaintTicks.fraction(frameRate: 1) == "1000000/999960")
        #expect(PaintTicks.fraction(frameRate: 25) == "25/1")
        #expect(PaintTicks.fraction(frameRate: 24) == "24/1")
        #expect(!PaintTicks.period(frameRate: 25).isAligned)
    }

    @Test(
        "a capture begins 16 ms after a tick, and less than one tick before the present time",
        arguments: [0, 1, 15_999_999, 16_000_000, 16_665_999, 3_600_000_000_123, 9_000_000_000_000_000])
    func starts(now: Int64) {
        let start = PaintTicks.start(before: now)
        #expect(start <= now && now - start < PaintTicks.interval)
        #expect((start - PaintTicks.phase) % PaintTicks.interval == 0)
    }

    @Test("captured pictures keep their distance from the ticks for a day")
    func phasesStay() {
        let start = PaintTicks.start(before: 3_600_000_000_000)
        for rate in [10, 15, 20, 30, 60] {
            let period = PaintTicks.period(frameRate: rate).nanoseconds
            let last = start + period * Int64(86_400 * rate)
            #expect((last - PaintTicks.phase) % PaintTicks.interval == 0)
        }
    }
}
