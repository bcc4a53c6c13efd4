import Testing

@testable import EncodedMedia

@Suite struct MediaTimeTests {
    private static let edges: [Int64] = [.min, .min + 1, -1_000_000, -1, 0, 1, 999_999, .max - 1, .max]

    @Test("arithmetic of times stops at their ends", arguments: edges)
    func atTheEnds(nanoseconds: Int64) {
        let time = MediaTime(nanoseconds: nanoseconds)
        for other in Self.edges {
            let (sum, difference) = (time + MediaTime(nanoseconds: other), time - MediaTime(nanoseconds: other))
            // The tolerance is that of a Double.
            #expect(abs(sum.inSeconds - min(max(time.inSeconds + Double(other) / 1e9, -9.3e9), 9.3e9)) < 1e8)
            #expect(abs(difference.inSeconds - min(max(time.inSeconds - Double(other) / 1e9, -9.3e9), 9.3e9)) < 1e8)
            let product = time * other
            #expect((product.nanoseconds < 0) == (Double(nanoseconds) * Double(other) < 0))
            _ = time / other
        }
        #expect(time.magnitude >= .zero && (-time).magnitude >= .zero)
        _ = (time.roundedMilliseconds, time.rounded, time.inSeconds)
        for rate in [Int.min, -1, 0, 1, 44100, 48000, 0xFF_FFFF, .max] {
            _ = (time.units(rate: rate), MediaTime.units(nanoseconds, rate: rate))
        }
        #expect(MediaTime.milliseconds(nanoseconds).nanoseconds / 1_000_000 <= Int64.max / 1_000_000)
    }

    @Test func whatDoesNotFitIsTheNearestThatDoes() {
        #expect(MediaTime.milliseconds(Int64.max) == MediaTime(nanoseconds: .max))
        #expect(MediaTime.milliseconds(Int64.min) == MediaTime(nanoseconds: .min))
        #expect(MediaTime.milliseconds(UInt64.max) == MediaTime(nanoseconds: .max))
        #expect(MediaTime.seconds(1e300) == MediaTime(nanoseconds: .max))
        #expect(MediaTime.seconds(-.infinity) == MediaTime(nanoseconds: .min))
        #expect(MediaTime.seconds(.nan) == .zero)
        #expect(MediaTime(nanoseconds: .min) / -1 == MediaTime(nanoseconds: .max))
        #expect(MediaTime.milliseconds(5) / 0 == .milliseconds(5))
        #expect(MediaTime(nanoseconds: .min).magnitude == MediaTime(nanoseconds: .max))
        #expect(Int(saturating: 1e19) == .max && Int(saturating: -1e19) == .min && Int(saturating: .nan) == 0)
        #expect(UInt8(saturating: -0.5) == 0 && UInt8(saturating: 254.9) == 254 && UInt8(saturating: 255.5) == 255)
    }

    @Test func whatFitsIsExact() {
        #expect(MediaTime.milliseconds(-1500) + .seconds(0.25) == .milliseconds(-1250))
        #expect(
            MediaTime.units(48000 * 3600 + 1024, rate: 48000) == .seconds(3600) + MediaTime(nanoseconds: 21_333_333))
        #expect(MediaTime.milliseconds(40) * 25 / 4 == .milliseconds(250))
        #expect(-MediaTime.milliseconds(7) == .milliseconds(-7))
        #expect(MediaTime(nanoseconds: 1_499_999).roundedMilliseconds == 1)
        #expect(MediaTime(nanoseconds: -1_500_000).roundedMilliseconds == -2)
    }
}
