/// Judges the content of pictures by their marks: lost, repeated, frozen, black.
struct ContentAnalysis: Sendable {
    private(set) var sources: [ProbeReport.Source] = []
    private(set) var frozenMs = 0.0
    private(set) var blackMs = 0.0
    private(set) var unreadable = 0

    init(_ pictures: [PictureObservation], configuration: ProbeConfiguration) {
        let interval = TimingAnalysis.interval(of: pictures.map(\.time)[...]) ?? 0
        countSources(pictures, configuration)
        measureFrozen(pictures, configuration, interval)
        for (index, picture) in pictures.enumerated() where !picture.isReadable {
            unreadable += 1
            guard picture.isBlack else { continue }
            blackMs += index + 1 < pictures.count ? Double(pictures[index + 1].time - picture.time) : interval
        }
    }

    private mutating func countSources(_ pictures: [PictureObservation], _ configuration: ProbeConfiguration) {
        var reports: [Int: ProbeReport.Source] = [:]
        var last: [Int: (index: Int, counter: Int)] = [:]
        for (index, picture) in pictures.enumerated() {
            for (id, reading) in picture.readings {
                var report = reports[id] ?? ProbeReport.Source(id: id)
                defer { reports[id] = report }
                report.pictures += 1
                guard let publisher = configuration.publisher(id) else { continue }
                // A pane that fades in covers parts of another one's flash.
                if !picture.isMoving, reading.isFlashing != (reading.mark.counter % publisher.fps == 0) {
                    report.torn += 1
                }
                defer { last[id] = (index, reading.mark.counter) }
                // A source that was off air in between has not lost the pictures that it sent during that time.
                guard let before = last[id], before.index == index - 1 else { continue }
                let step = SourceMark.steps(from: before.counter, to: reading.mark.counter)
                let passed = Double(picture.time - pictures[before.index].time)
                let own = 1000 / Double(publisher.fps)
                let faults = report.faults
                defer {
                    if report.faults > faults, report.faultTimes.count < 8 { report.faultTimes.append(picture.time) }
                }
                if step < 0 {
                    report.backward += 1
                } else if Swift.abs(passed - own) < 2 {
                    if step == 0 { report.repeated += 1 }
                    report.lost += max(0, step - 1)
                } else {
                    // With different rates, the content may be early or late by up to one interval of the slower one.
                    let excess = Double(step) * own - passed
                    let slack = max(own, passed) + 2
                    if excess > slack { report.lost += Int((excess / own).rounded(.up)) - 1 }
                    if excess < -slack { report.repeated += 1 }
                }
            }
        }
        sources = reports.values.sorted { $0.id < $1.id }
    }

    /// Measures frozen time: a picture is frozen from the moment at which its next change is overdue.
    private mutating func measureFrozen(
        _ pictures: [PictureObservation], _ configuration: ProbeConfiguration, _ interval: Double
    ) {
        var lastChange: Int64?
        var shown: [Int: Int] = [:]
        for picture in pictures {
            let counters = picture.readings.mapValues(\.mark.counter)
            // Unreadable pictures are counted separately; they do not prove movement.
            guard !counters.isEmpty, counters.contains(where: { shown[$0.key] != $0.value }) else { continue }
            shown = counters
            defer { lastChange = picture.time }
            guard let lastChange else { continue }
            let fastest = counters.keys.compactMap { configuration.publisher($0).map { 1000 / Double($0.fps) } }.min()
            // A canvas slower than its source shows each picture for its own interval.
            let canvas = configuration.scenes.map { 1000 / Double($0.canvas.fps) }.max() ?? 0
            let expected = max(interval, fastest ?? interval, canvas)
            let held = Double(picture.time - lastChange)
            if held > 1.5 * expected { frozenMs += held - expected }
        }
    }
}
