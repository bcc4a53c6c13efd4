@testable import ViewerProbe

/// The measures of many switches, as seen by viewers.
struct SeamDistribution {
    private let seams: [SwitchReport]

    init(_ seams: [SwitchReport]) { self.seams = seams }

    /// A table in Markdown: median, 99th percentile and greatest value of each measure, and the number of seams that
    /// have it.
    var table: String {
        let clicks = seams.filter(\.judgesClick)
        let rows: [(name: String, values: [Double])] = [
            (
                "picture gap beyond an interval, ms",
                seams.map { abs($0.videoGapMs - ($0.intervalAfterMs ?? $0.videoGapMs)) }
            ),
            ("content step, pictures", seams.compactMap { $0.contentStep.map(Double.init) }),
            ("audio cadence, ms", seams.compactMap { $0.audioDeviationMs.map(abs) }),
            ("A/V shift, ms", seams.compactMap { $0.avShiftMs.map(abs) }),
            ("jump of the tone, degrees", seams.compactMap { $0.phaseJumpDegrees.map(abs) }),
            ("click, dB", clicks.compactMap(\.clickLevel)),
            ("click in the band above the tones, dB", clicks.compactMap(\.bandClickLevel)),
            ("colour, of 255", seams.compactMap(\.colourError)),
        ]
        let head = "| measure | seams | median | 99 % | greatest |\n|---|---|---|---|---|"
        return rows.reduce(head) { table, row in
            let figures = [row.values.median, row.values.percentile(0.99), row.values.max()].map { $0?.tenths ?? "–" }
            return table + "\n| \(row.name) | \(row.values.count) | \(figures.joined(separator: " | ")) |"
        }
    }
}
