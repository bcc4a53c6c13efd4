import EncodedMedia
import MediaFormats

/// The timing of a program's frames, by their timestamps alone.
struct TimingAnalysis: Sendable {
    /// Presentation times of the video in ms, ascending.
    let videoTimes: [Int64]
    /// Number of timestamps that are not later than the previous one of the same track, in decoding order.
    let backwardVideo: Int
    let backwardAudio: Int
    private let audio: [(time: Int64, nominal: Double, configuration: Int)]

    init(_ trace: ProgramTrace) {
        let last = trace.lastWhole
        videoTimes = trace.video.map(\.frame.pts.roundedMilliseconds).filter { $0 <= last }.sorted()
        backwardVideo = TimingAnalysis.backward(trace.video.map(\.frame.dts))
        backwardAudio = TimingAnalysis.backward(trace.audio.map(\.frame.dts))
        let nominal = trace.configurations.map { configuration -> Double in
            guard configuration.track == .audio, let audio = AudioSpecificConfig(configuration.bytes) else { return 0 }
            return Double(audio.samplesPerFrame) * 1000 / Double(audio.sampleRate)
        }
        audio = trace.audio.map { frame in
            let known = nominal.indices.contains(frame.configuration)
            return (
                frame.frame.pts.roundedMilliseconds, known ? nominal[frame.configuration] : 0, frame.configuration
            )
        }
    }

    private static func backward(_ times: [MediaTime]) -> Int {
        zip(times, times.dropFirst()).count { $0 >= $1 }
    }

    /// An interval between two audio frames.
    struct AudioGap: Hashable, Sendable {
        /// Time from one frame to the next, in whole ms as in the stream.
        var length: Double
        /// True difference from the length of the first frame, in ms; negative means an overlap.
        var deviation: Double
        /// Whether the second frame has another length.
        var changesRate: Bool
    }

    /// Returns the interval that differs most from its nominal length, of those that touch `window` (ms); `nil` if
    /// there is none.
    func worstAudioGap(in window: ClosedRange<Int64>) -> AudioGap? {
        var worst: AudioGap?
        for index in audio.indices.dropLast() {
            let (one, next) = (audio[index], audio[index + 1])
            guard next.time >= window.lowerBound, one.time <= window.upperBound, one.nominal > 0 else { continue }
            let gap = AudioGap(
                length: Double(next.time - one.time), deviation: deviation(after: index),
                changesRate: abs(next.nominal - one.nominal) > 0.001)
            if abs(gap.deviation) > worst.map({ abs($0.deviation) }) ?? -1 { worst = gap }
        }
        return worst
    }

    /// Largest change, in ms, that timestamps in whole ms make to a perfect interval.
    private static let rounding = 1.001
    /// Number of frames on either side of an interval with which its length is known more precisely than to the
    /// millisecond: half a second.
    private static let reach = 24

    /// Returns the difference of the interval after frame `index` from its nominal length, in ms.
    ///
    /// A single interval within the rounding proves nothing: 20, 21 and 22 ms can all be 21.3 ms. So a line is fitted
    /// to the frames before and another to those after, and the step from one line to the other is the difference.
    /// Lines are used instead of grids of the nominal length, because slowly following a clock is not a gap.
    private func deviation(after index: Int) -> Double {
        let raw = rawDeviation(after: index)
        guard abs(raw) <= TimingAnalysis.rounding + 1, !changesNominal(after: index) else { return raw }
        var (first, last) = (index, index + 1)
        while first > 0, index - first < TimingAnalysis.reach - 1, isRegular(after: first - 1) { first -= 1 }
        while last + 1 < audio.count, last - index < TimingAnalysis.reach, isRegular(after: last) { last += 1 }
        // A line through few frames is no more accurate than one interval.
        guard index - first >= 14, last - index >= 15 else { return abs(raw) <= TimingAnalysis.rounding ? 0 : raw }
        // Both lines are compared in the middle of the interval.
        let step =
            line(through: index + 1...last, at: Double(index) + 0.5)
            - line(through: first...index, at: Double(index) + 0.5)
        // A step spread over several frames is not a gap in any of them: then the interval itself is more accurate.
        return abs(raw) < abs(step) ? raw : step
    }

    /// Returns the lateness of the timestamps of `frames` against nominal, in ms, at frame position `position` of a
    /// least-squares line.
    private func line(through frames: ClosedRange<Int>, at position: Double) -> Double {
        let (count, origin, nominal) = (Double(frames.count), frames.lowerBound, audio[frames.lowerBound].nominal)
        let middle = (count - 1) / 2
        var (mean, covariance, variance) = (0.0, 0.0, 0.0)
        for frame in frames {
            let x = Double(frame - origin) - middle
            // Nominal times are counted from the start of the recording, the same for every line.
            let late = Double(audio[frame].time) - Double(frame) * nominal
            mean += late / count
            covariance += x * late
            variance += x * x
        }
        return mean + covariance / variance * (position - Double(origin) - middle)
    }

    private func rawDeviation(after index: Int) -> Double {
        Double(audio[index + 1].time - audio[index].time) - audio[index].nominal
    }

    private func changesNominal(after index: Int) -> Bool {
        abs(audio[index + 1].nominal - audio[index].nominal) > 0.001
    }

    private func isRegular(after index: Int) -> Bool {
        abs(rawDeviation(after: index)) <= TimingAnalysis.rounding + 1 && !changesNominal(after: index)
    }

    var audioFrames: Int { audio.count }

    /// Returns the usual distance of these pictures in ms; `nil` with fewer than two.
    static func interval(of times: ArraySlice<Int64>) -> Double? {
        guard let first = times.first, let last = times.last, times.count > 1 else { return nil }
        // The median is robust, and the mean has the fraction of a millisecond: take the mean of the gaps near the
        // median.
        let gaps = zip(times, times.dropFirst()).map { Double($1 - $0) }
        guard let median = gaps.median, median > 0 else { return Double(last - first) / Double(times.count - 1) }
        return gaps.filter { abs($0 - median) <= 1.5 }.mean
    }
}
