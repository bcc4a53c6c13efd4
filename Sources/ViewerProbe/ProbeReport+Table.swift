extension ProbeReport {
    /// The report for operators: one row per switch, then the program as a whole, then the verdict.
    public var table: String {
        var rows = [
            [
                "time s", "from", "to", "video ms", "audio ms", "step", "A/V ms", "shift", "tone °", "click dB",
                "colour", "delay ms", "",
            ]
        ]
        for change in switches {
            rows.append([
                (Double(change.time) / 1000).tenths, change.from, change.to, change.videoGapMs.tenths,
                change.audioGapMs?.tenths ?? "–", change.contentStep.map(String.init) ?? "–",
                change.avAfterMs?.tenths ?? "–", change.avShiftMs?.tenths ?? "–",
                change.phaseJumpDegrees?.tenths ?? "–", change.clickLevel?.tenths ?? "–",
                change.colourError?.tenths ?? "–", change.addedDelayMs?.tenths ?? "–",
                change.failures.isEmpty ? "ok" : "FAIL",
            ])
        }
        var lines = ProbeReport.aligned(rows)
        lines.append("")
        lines += summary
        for change in switches {
            for failure in change.failures {
                let seconds = (Double(change.time) / 1000).tenths
                lines.append("FAIL at \(seconds) s, \(change.from) → \(change.to): \(failure)")
            }
        }
        lines += failures.map { "FAIL \($0)" }
        lines.append(
            isWithinLimits
                ? "PASS: \(splices.count) splices, all within limits"
                : "FAIL: not within limits (\(splices.count) splices)")
        return lines.joined(separator: "\n")
    }

    private var summary: [String] {
        let intervals = videoIntervalsMs.map(\.tenths).joined(separator: " / ")
        var lines = [
            "\(seconds.tenths) s, \(videoFrames) pictures, \(audioFrames) audio frames, \(connections) connection(s), "
                + "publisher lost \(publisherLosses)×",
            "video interval min / median / max \(intervals) ms, audio cadence within \(abs(audioDeviationMs).tenths) ms, "
                + "timestamps going back: \(backwardTimestamps)",
            "decode errors: \(decodeErrors.count), frozen \(frozenMs.tenths) ms, black \(blackMs.tenths) ms, "
                + "unreadable pictures: \(unreadable)",
        ]
        for source in sources {
            lines.append(
                "source \(source.id): \(source.pictures) pictures, \(source.lost) lost, \(source.repeated) repeated, "
                    + "\(source.backward) back, \(source.torn) torn")
        }
        if let seam { lines.append(seam) }
        if let mixDelayMs { lines.append("the mix adds \(mixDelayMs.tenths) ms to the bypass (median)") }
        return lines
    }

    /// The worst splice in one line: `video gap 50 ms = 1 frame, audio gap 21 ms, …`.
    private var seam: String? {
        guard let worst = splices.max(by: { $0.videoGapMs < $1.videoGapMs }) else { return nil }
        let interval = max(worst.intervalBeforeMs ?? 0, worst.intervalAfterMs ?? 0)
        let frames = interval > 0 ? " = \((worst.videoGapMs / interval).tenths) frames" : ""
        let isOne = interval > 0 && abs(worst.videoGapMs / interval - 1) < 0.1
        let audio = splices.compactMap(\.audioGapMs).max().map { "audio gap \(Int($0.rounded())) ms, " } ?? ""
        let shift = splices.compactMap(\.avShiftMs).map(abs).max().map { "A/V shift \($0.tenths) ms, " } ?? ""
        return "worst splice: video gap \(Int(worst.videoGapMs.rounded())) ms\(isOne ? " = 1 frame" : frames), \(audio)"
            + "\(shift)\(connections - 1 + publisherLosses) reconnects"
    }

    private static func aligned(_ rows: [[String]]) -> [String] {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).map { text, width in text + String(repeating: " ", count: width - text.count) }
                .joined(separator: "  ")
        }
    }
}
