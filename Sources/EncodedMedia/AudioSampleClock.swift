/// Rebuilds the exact times of a source's AAC frames from timestamps that are rounded to milliseconds.
///
/// Frame `n` is at `base + n · samplesPerFrame / rate`. Lost frames advance the count by whole frames. A larger
/// disagreement starts a new base. A slow drift, of the publisher's sound card against its timestamps, is followed by
/// 50 µs a frame.
public struct AudioSampleClock: Sendable {
    /// Sample rate in Hz.
    public let sampleRate: Int
    public let samplesPerFrame: Int

    private var base: MediaTime?
    private var count: Int64 = 0
    private var meanError = 0.0

    /// Largest deviation of a timestamp that counts as rounding or jitter of the publisher.
    private var tolerance: MediaTime { frameDuration / 2 }
    private static let nudge = MediaTime(nanoseconds: 50_000)

    public init(sampleRate: Int, samplesPerFrame: Int = 1024) {
        self.sampleRate = sampleRate
        self.samplesPerFrame = samplesPerFrame
    }

    public var frameDuration: MediaTime { .units(Int64(samplesPerFrame), rate: sampleRate) }

    /// Returns the exact time of the next frame, whose timestamp is `rounded`; both are on the source's timeline.
    public mutating func next(rounded: MediaTime) -> MediaTime {
        guard let base else {
            self.base = rounded
            count = 1
            return rounded
        }
        var exact = base + .units(count * Int64(samplesPerFrame), rate: sampleRate)
        let error = rounded - exact
        if error.magnitude > tolerance {
            let frames = Int64((Double(error.nanoseconds) / Double(frameDuration.nanoseconds)).rounded())
            let rest = (error - frameDuration * frames).magnitude
            if frames > 0, frames < 500, rest <= .milliseconds(2) {
                count += frames
                exact = base + .units(count * Int64(samplesPerFrame), rate: sampleRate)
            } else {
                self.base = rounded
                count = 0
                meanError = 0
                exact = rounded
            }
        } else {
            meanError += (Double(error.nanoseconds) - meanError) / 128
            if meanError.magnitude > 1_500_000 {
                self.base = base + (meanError > 0 ? AudioSampleClock.nudge : -AudioSampleClock.nudge)
            }
        }
        count += 1
        return exact
    }
}
