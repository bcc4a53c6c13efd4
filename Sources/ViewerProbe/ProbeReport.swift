/// A viewer's judgement of a whole program.
public struct ProbeReport: Hashable, Codable, Sendable {
    /// The observations of one publisher.
    public struct Source: Hashable, Codable, Sendable {
        /// Number of the publisher in the mark.
        public var id: Int
        /// Number of pictures in which it was seen.
        public var pictures = 0
        /// Number of content pictures that were never shown while the source was on air. If program and source have
        /// different rates, only losses beyond the difference count.
        public var lost = 0
        /// Number of content pictures that were shown more than once.
        public var repeated = 0
        /// Number of pictures whose content went backwards in time.
        public var backward = 0
        /// Number of pictures whose flash and counter contradict each other: torn or mixed up.
        public var torn = 0
        /// Timestamps of the first pictures at which content was lost, repeated or went back, in ms; at most 8.
        public var faultTimes: [Int64] = []

        var faults: Int { lost + repeated + backward }
    }

    /// Number of connections that the viewer had to make.
    public var connections: Int
    /// Number of times that the server announced the publisher's departure.
    public var publisherLosses: Int
    /// Length of the recording in seconds.
    public var seconds: Double
    public var videoFrames: Int
    public var audioFrames: Int
    /// Smallest, median and greatest interval of the pictures, in ms.
    public var videoIntervalsMs: [Double]
    /// Greatest deviation of an audio interval from the length of an AAC frame, in ms.
    public var audioDeviationMs: Double
    /// Number of timestamps that go backwards or do not advance, in video and in audio.
    public var backwardTimestamps: Int
    /// Errors reported by the decoders.
    public var decodeErrors: [String]
    public var frozenMs: Double
    public var blackMs: Double
    /// Number of pictures in which no mark could be read.
    public var unreadable: Int
    public var sources: [Source]
    /// Median delay that the mix adds to the bypass, in ms, for the sources seen in both.
    public var mixDelayMs: Double?
    /// Every change of the content on air: splices and scene changes.
    public var switches: [SwitchReport]
    /// Violated limits of the program as a whole, in words.
    public var failures: [String] = []

    public var splices: [SwitchReport] { switches.filter(\.isSplice) }
    /// Whether every limit is kept.
    public var isWithinLimits: Bool { failures.isEmpty && switches.allSatisfy(\.failures.isEmpty) }

    /// Returns the report with the `failures` of the whole program and of every switch against `configuration.limits`.
    func judged(by configuration: ProbeConfiguration) -> ProbeReport {
        let limits = configuration.limits
        var report = self
        report.switches = switches.map { $0.judged(by: limits) }
        report.failures = []
        func check(_ isKept: Bool, _ text: @autoclosure () -> String) {
            if !isKept { report.failures.append(text()) }
        }
        check(videoFrames > 0, "no video was received")
        check(audioFrames > 0, "no audio was received")
        check(connections == 1, "\(connections) connections were made")
        check(publisherLosses == 0, "the program's publisher left \(publisherLosses) times")
        check(backwardTimestamps == 0, "\(backwardTimestamps) timestamps go backwards")
        check(decodeErrors.isEmpty, "\(decodeErrors.count) decode errors, first: \(decodeErrors.first ?? "")")
        check(frozenMs <= limits.frozenMs, "the picture is frozen for \(frozenMs.tenths) ms")
        check(blackMs <= limits.frozenMs, "the picture is black for \(blackMs.tenths) ms")
        check(unreadable <= limits.unreadable, "\(unreadable) pictures show no readable mark")
        if !switches.contains(where: \.changesAudioRate) {
            check(
                abs(audioDeviationMs) <= limits.audioGapMs, "audio cadence off by \(audioDeviationMs.tenths) ms")
        }
        let hosts = Set(switches.compactMap(\.host))
        for source in sources where hosts.contains(source.id) || hosts.isEmpty {
            check(
                source.faults <= limits.contentFaults,
                "source \(source.id): \(source.lost) pictures lost, \(source.repeated) repeated, \(source.backward) back, "
                    + "at \(source.faultTimes.map { (Double($0) / 1000).tenths }.joined(separator: ", ")) s")
        }
        for source in sources { check(source.torn == 0, "source \(source.id): \(source.torn) torn pictures") }
        if let mixDelayMs { check(mixDelayMs <= limits.mixDelayMs, "the mix adds \(mixDelayMs.tenths) ms") }
        if let expected = configuration.expectedSwitches {
            check(splices.count == expected, "\(splices.count) splices were seen, \(expected) expected")
        }
        return report
    }
}
