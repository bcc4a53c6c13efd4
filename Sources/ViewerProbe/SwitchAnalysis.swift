/// Measures each change of the sources and panes on air.
struct SwitchAnalysis {
    let observation: ProgramObservation
    let configuration: ProbeConfiguration
    let stretches: [ContentTimeline.Stretch]
    /// Beeps by source: the times in ms at which they begin.
    private let beeps: [Int: [Double]]

    init(_ observation: ProgramObservation, _ configuration: ProbeConfiguration) {
        self.observation = observation
        self.configuration = configuration
        stretches = ContentTimeline(observation.pictures, configurations: observation.configurations).stretches
        var beeps: [Int: [Double]] = [:]
        for publisher in configuration.publishers {
            beeps[publisher.id] = observation.sound.flatMap { run in
                ToneAnalysis.beeps(
                    run.samples, sampleRate: run.sampleRate, frequency: Double(publisher.beepFrequency),
                    threshold: SyntheticPublisher.beepAmplitude / 4
                ).map { run.time(ofSample: $0) - SyntheticPublisher.beepSeconds * 500 }
            }
        }
        self.beeps = beeps
    }

    /// Returns a report for each change, in the order of time.
    func reports() -> [SwitchReport] {
        stretches.indices.dropFirst().map { report(at: $0) }
    }

    /// Returns the delay that the mix adds to the bypass in ms, as the median over the sources seen in both.
    func mixDelay() -> Double? {
        configuration.publishers.compactMap { publisher -> Double? in
            func delays(_ kind: ContentTimeline.Kind) -> [Double] {
                stretches.filter { $0.kind == kind }.flatMap { self.delays(of: publisher, in: $0.range) }
            }
            guard let bypass = delays(.bypass).median, let mix = delays(.mix).median else { return nil }
            return mix - bypass
        }.median
    }

    private func report(at index: Int) -> SwitchReport {
        let pictures = observation.pictures
        let (before, after) = (stretches[index - 1], stretches[index])
        let first = after.range.lowerBound
        let time = pictures[first].time
        let common = Set(before.shown.map(\.source)).intersection(after.shown.map(\.source))
        let bypassed = [before, after].first { $0.kind == .bypass }?.shown.first?.source
        let host = bypassed.flatMap { common.contains($0) ? $0 : nil } ?? common.min()
        let publisher = host.flatMap { configuration.publisher($0) }
        let near = 12
        let times = pictures.map(\.time)
        let audio = observation.timing.worstAudioGap(in: time - 200...time + 200)

        var report = SwitchReport(
            time: time, arrival: pictures[first].arrival, from: before.label, to: after.label,
            isSplice: before.kind != after.kind || before.kind == .bypass, host: host,
            videoGapMs: Double(time - pictures[first - 1].time), changesAudioRate: audio?.changesRate ?? false)
        report.intervalBeforeMs = TimingAnalysis.interval(of: times[max(before.range.lowerBound, first - near)..<first])
        report.intervalAfterMs = TimingAnalysis.interval(of: times[first..<min(after.range.upperBound, first + near)])
        report.audioGapMs = audio?.length
        report.audioDeviationMs = audio?.deviation
        report.judgesClick =
            host != nil
            || (before.shown + after.shown).allSatisfy { configuration.publisher($0.source)?.hasSound == false }
        guard let publisher else { return report }
        report.hostIntervalMs = 1000 / Double(publisher.fps)
        report.contentStep = contentStep(of: publisher.id, at: first)
        report.colourError = colourError(of: publisher.id, before: before, after: after)
        report.avBeforeMs = avOffset(of: publisher, in: before, near: time)
        report.avAfterMs = avOffset(of: publisher, in: after, near: time)
        measureSound(of: publisher, at: Double(time), into: &report)
        if report.isSplice {
            let earlier = delays(of: publisher, in: max(before.range.lowerBound, first - 40)..<first).median
            let later = delays(of: publisher, in: first..<min(after.range.upperBound, first + 40)).median
            if let earlier, let later { report.addedDelayMs = later - earlier }
        }
        return report
    }

    private func contentStep(of source: Int, at first: Int) -> Int? {
        guard let earlier = observation.pictures[first - 1].readings[source]?.mark.counter,
            let later = observation.pictures[first].readings[source]?.mark.counter
        else { return nil }
        return SourceMark.steps(from: earlier, to: later)
    }

    /// Returns the delay of sound behind picture in ms, over the longest stretch in which the source is on air.
    func overallOffset(of publisher: SyntheticPublisher) -> Double? {
        let own = stretches.filter { stretch in stretch.shown.contains { $0.source == publisher.id } }
        guard let longest = own.max(by: { $0.range.count < $1.range.count }) else { return nil }
        return avOffset(of: publisher, in: longest, near: observation.pictures[longest.range.lowerBound].time)
    }

    // MARK: Delay

    /// Returns the time at which each picture could be shown minus its content time, in ms, up to a constant of the
    /// publisher. A picture can be shown once it and all pictures shown before it have arrived, which matters with
    /// B-frames.
    private func delays(of publisher: SyntheticPublisher, in range: Range<Int>) -> [Double] {
        var latest: Int64 = 0
        return observation.pictures[range].compactMap { picture in
            latest = max(latest, picture.arrival ?? 0)
            guard picture.arrival != nil, let reading = picture.readings[publisher.id] else { return nil }
            return Double(latest) / 1e6 - Double(reading.mark.counter) * 1000 / Double(publisher.fps)
        }
    }

    // MARK: Colour

    private func colourError(
        of source: Int, before: ContentTimeline.Stretch, after: ContentTimeline.Stretch
    ) -> Double? {
        let near = 20
        let (start, end) = (before.range.upperBound, after.range.lowerBound)
        let first = observation.pictures[max(before.range.lowerBound, start - near)..<start]
        let second = observation.pictures[end..<min(after.range.upperBound, end + near)]
        func colour(_ pictures: ArraySlice<PictureObservation>) -> (ColourSample, ViewerColour)? {
            // A pane that fades in covers parts of another one's colour.
            let still = pictures.filter { !$0.isMoving }
            guard let sample = ColourSample.median(still.compactMap { $0.readings[source]?.colour }),
                let picture = pictures.first
            else { return nil }
            let known = observation.configurations.indices.contains(picture.configuration)
            let configuration = known ? observation.configurations[picture.configuration] : nil
            return (sample, ViewerColour(configuration: configuration))
        }
        guard let (one, signalledOne) = colour(first), let (two, signalledTwo) = colour(second) else { return nil }
        return ViewerColour.greatestDifference(one, signalledOne, two, signalledTwo)
    }

    // MARK: A/V offset

    /// Returns the delay of sound behind picture in ms, from the beeps of a stretch near `time`; `nil` without a beep.
    ///
    /// Each picture's counter determines the time of its second's flash, so the flash is known more precisely than the
    /// millisecond to which one timestamp is rounded.
    private func avOffset(
        of publisher: SyntheticPublisher, in stretch: ContentTimeline.Stretch, near time: Int64,
        within reach: Int64 = 2500
    ) -> Double? {
        let pictures = observation.pictures[stretch.range].filter { abs($0.time - time) < reach }
        guard let start = pictures.first?.time, let end = pictures.last?.time else { return nil }
        let interval = 1000 / Double(publisher.fps)
        let offsets = pictures.compactMap { picture in
            picture.readings[publisher.id].map { Double(picture.time) - Double($0.mark.counter) * interval }
        }
        let programInterval = TimingAnalysis.interval(of: pictures.map(\.time)[...]) ?? interval
        // A source sampled at another frame rate is shown late by up to an interval, so the earliest pictures count.
        let video = abs(programInterval - interval) < 1 ? offsets.median : offsets.percentile(0.1)
        let near = (beeps[publisher.id] ?? []).filter { $0 > Double(start) + 20 && $0 < Double(end) - 60 }
        guard let video else { return nil }
        let differences = near.map { beep -> Double in
            let difference = beep - video
            return difference - 1000 * (difference / 1000).rounded()
        }
        return differences.median
    }

    /// Returns the delay of sound behind picture in ms at each beep of a source while it is on air, with the time of
    /// the beep in ms.
    func avOffsets(of publisher: SyntheticPublisher) -> [(time: Double, offset: Double)] {
        stretches.flatMap { stretch -> [(time: Double, offset: Double)] in
            guard stretch.shown.contains(where: { $0.source == publisher.id }) else { return [] }
            let pictures = observation.pictures
            let (start, end) = (pictures[stretch.range.lowerBound].time, pictures[stretch.range.upperBound - 1].time)
            return (beeps[publisher.id] ?? []).filter { $0 > Double(start) + 20 && $0 < Double(end) - 60 }.compactMap {
                beep in
                avOffset(of: publisher, in: stretch, near: Int64(beep.rounded()), within: 600).map { (beep, $0) }
            }
        }
    }

    // MARK: Tone

    private func measureSound(of publisher: SyntheticPublisher, at time: Double, into report: inout SwitchReport) {
        guard let run = observation.sound.first(where: { $0.sample(at: time) != nil }),
            let centre = run.sample(at: time)
        else { return }
        let rate = run.sampleRate
        // 100 ms on either side, beyond the two AAC frames that may hold the splice and the encoder's overlap.
        let (length, distance) = (rate / 10, rate * 3 / 20)
        func tone(_ centre: Int) -> (amplitude: Double, phase: Double)? {
            ToneAnalysis.tone(
                run.samples, sampleRate: rate, frequency: Double(publisher.toneFrequency), centre: centre,
                length: length)
        }
        let least = SyntheticPublisher.toneAmplitude / 4
        if let before = tone(centre - distance), let after = tone(centre + distance), before.amplitude > least,
            after.amplitude > least
        {
            let jump = ToneAnalysis.phaseJump(from: before.phase, to: after.phase)
            report.phaseJumpDegrees = jump
            report.phaseJumpSamples = jump / 360 * Double(rate) / Double(publisher.toneFrequency)
        }
        let reach = rate * 6 / 100
        report.clickLevel = ToneAnalysis.clickLevel(run.samples, range: centre - reach..<centre + reach)
        let around = [centre - 6 * reach..<centre - 2 * reach, centre + 2 * reach..<centre + 6 * reach]
        report.clickSurroundings = around.compactMap { ToneAnalysis.clickLevel(run.samples, range: $0) }.max()
        func band(_ range: Range<Int>) -> Double? {
            ToneAnalysis.bandClickLevel(run.samples, sampleRate: rate, range: range)
        }
        report.bandClickLevel = band(centre - reach..<centre + reach)
        report.bandClickSurroundings = around.compactMap(band).max()
    }
}
