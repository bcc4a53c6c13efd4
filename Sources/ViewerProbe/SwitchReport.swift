/// A viewer's measurements of one change of the program.
public struct SwitchReport: Hashable, Codable, Sendable {
    /// Presentation time of the first picture after the change, in ms as in the stream.
    public var time: Int64
    /// Time at which that picture reached the viewer, as CLOCK_MONOTONIC in ns, if known.
    public var arrival: Int64?
    /// Content before and after the change, such as `bypass 1` or `mix 1+2`.
    public var from: String
    public var to: String
    /// Whether feeds are spliced: bypass ⇄ mix, or from one bypass to another. False if only the scene of a mix
    /// changes.
    public var isSplice: Bool
    /// Number of the source that is on air before and after.
    public var host: Int?

    /// Time from the last picture before the change to the first after it, in ms.
    public var videoGapMs: Double
    /// Usual picture interval before and after the change, in ms.
    public var intervalBeforeMs: Double?
    public var intervalAfterMs: Double?
    /// Number of pictures by which the host's content advances across the change; 1 means none lost, none repeated.
    public var contentStep: Int?
    /// The host's own picture interval, in ms.
    public var hostIntervalMs: Double?

    /// The audio interval near the change that differs most from an AAC frame, in whole ms as in the stream, and the
    /// difference in ms when rounding to whole ms is averaged out.
    public var audioGapMs: Double?
    public var audioDeviationMs: Double?
    /// Whether the length of the AAC frames changes here.
    public var changesAudioRate: Bool

    /// Delay of sound behind picture in ms, before and after.
    public var avBeforeMs: Double?
    public var avAfterMs: Double?
    /// Jump of the host's steady tone, in degrees and in samples.
    public var phaseJumpDegrees: Double?
    public var phaseJumpSamples: Double?
    /// Highest broadband peak, in dB of full scale, at the change and in its surroundings.
    public var clickLevel: Double?
    public var clickSurroundings: Double?
    /// Highest peak above 0.146 of the sample rate (7 kHz at 48 kHz) at the switch and near it, in dB of full scale.
    public var bandClickLevel: Double?
    public var bandClickSurroundings: Double?
    /// Whether a click is evidence about the splice. False if no source is on air both before and after it: the sound
    /// of the one source ends, and that of the other begins, anywhere in its wave, which is a click by itself.
    public var judgesClick = true

    /// Largest difference per channel of the host's colour, of 255, over all kinds of players.
    public var colourError: Double?
    /// Added delay of the host's pictures after the change, in ms.
    public var addedDelayMs: Double?

    /// Violated limits, in words.
    public var failures: [String] = []

    /// Change of the A/V offset in ms.
    public var avShiftMs: Double? {
        guard let avBeforeMs, let avAfterMs else { return nil }
        return avAfterMs - avBeforeMs
    }

    /// Returns the report with the `failures` of these measurements against `limits`.
    func judged(by limits: ProbeLimits) -> SwitchReport {
        var report = self
        report.failures = []
        func check(_ isKept: Bool, _ text: @autoclosure () -> String) {
            if !isKept { report.failures.append(text()) }
        }
        let before = intervalBeforeMs ?? intervalAfterMs ?? videoGapMs
        let after = intervalAfterMs ?? before
        let hasEqualRates = abs(before - after) < 1 && hostIntervalMs.map { abs($0 - after) < 1 } ?? true
        if hasEqualRates {
            check(
                abs(videoGapMs - after) <= limits.videoGapMs,
                "video gap \(videoGapMs.tenths) ms instead of \(after.tenths)")
            if let contentStep { check(contentStep == 1, "the host's content steps by \(contentStep) pictures") }
        } else {
            let longest = max(before, after)
            check(
                videoGapMs > 0 && videoGapMs <= longest + limits.videoGapMs,
                "video gap \(videoGapMs.tenths) ms, more than \(longest.tenths)")
            if let contentStep, let hostIntervalMs {
                let content = Double(contentStep) * hostIntervalMs
                check(
                    contentStep >= 0 && abs(content - videoGapMs) <= max(longest, hostIntervalMs) + 2,
                    "the host's content steps by \(content.tenths) ms in \(videoGapMs.tenths) ms")
            }
        }
        if let audioDeviationMs {
            let limit = changesAudioRate ? limits.audioGapAtRateChangeMs : limits.audioGapMs
            check(abs(audioDeviationMs) <= limit, "audio cadence off by \(audioDeviationMs.tenths) ms")
        }
        if let avShiftMs, hasEqualRates {
            check(abs(avShiftMs) <= limits.avShiftMs, "A/V offset shifts by \(avShiftMs.tenths) ms")
        }
        if let phaseJumpDegrees {
            check(
                abs(phaseJumpDegrees) <= limits.phaseDegrees,
                "the host's tone jumps by \(phaseJumpDegrees.tenths)°")
        }
        if isSplice, judgesClick, let clickLevel, let clickSurroundings {
            check(
                clickLevel <= max(limits.clickFloor, clickSurroundings + limits.clickDecibels),
                "click of \(clickLevel.tenths) dB (around it \(clickSurroundings.tenths) dB)")
        }
        if isSplice, judgesClick, let bandClickLevel, let bandClickSurroundings {
            check(
                bandClickLevel <= max(limits.bandClickFloor, bandClickSurroundings + limits.clickDecibels),
                "click of \(bandClickLevel.tenths) dB in the band above the tones "
                    + "(around it \(bandClickSurroundings.tenths) dB)")
        }
        if let colourError {
            check(colourError <= limits.colour, "the host's colour changes by \(colourError.tenths) of 255")
        }
        return report
    }
}

extension Double {
    /// The value as text, with one digit after the point.
    var tenths: String {
        let value = (self * 10).rounded() / 10
        return value == 0 ? "0.0" : String(value)
    }
}
