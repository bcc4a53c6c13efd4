import Foundation

/// A program as a viewer received it, over time: the content on air, the spacing of its pictures, and sound against
/// picture.
public struct ProbePlot: Sendable {
    /// A value at a time of the program.
    struct Point: Hashable, Sendable {
        /// Seconds since the first picture.
        var seconds: Double
        /// The value in ms.
        var value: Double
    }

    /// A stretch with the same content on air.
    struct Band: Hashable, Sendable {
        var kind: ContentTimeline.Kind
        var label: String
        var seconds: ClosedRange<Double>
    }

    /// A change of the content on air, and whether it keeps every limit.
    struct Change: Hashable, Sendable {
        var seconds: Double
        var isWithinLimits: Bool
    }

    /// Length of the program in seconds.
    var length: Double
    var bands: [Band]
    var changes: [Change]
    /// Time from each picture to the next by their timestamps, and by their arrival where it is known.
    var spacing: [Point]
    var arrivals: [Point]
    /// Delay of sound behind picture at each beep, by number of the source.
    var offsets: [Int: [Point]]

    /// Creates the plot of an observed program and its judgement.
    init(_ observation: ProgramObservation, _ configuration: ProbeConfiguration, _ report: ProbeReport) {
        let pictures = observation.pictures
        let start = pictures.first?.time ?? 0
        func seconds(_ time: Int64) -> Double { Double(time - start) / 1000 }
        length = seconds(pictures.last?.time ?? start)
        let analysis = SwitchAnalysis(observation, configuration)
        bands = analysis.stretches.compactMap { stretch in
            guard pictures.indices.contains(stretch.range.lowerBound) else { return nil }
            let end = min(stretch.range.upperBound, pictures.count - 1)
            return Band(
                kind: stretch.kind, label: stretch.label,
                seconds: seconds(pictures[stretch.range.lowerBound].time)...seconds(pictures[end].time))
        }
        changes = report.switches.map { Change(seconds: seconds($0.time), isWithinLimits: $0.failures.isEmpty) }
        spacing = zip(pictures, pictures.dropFirst()).map {
            Point(seconds: seconds($1.time), value: Double($1.time - $0.time))
        }
        arrivals = zip(pictures, pictures.dropFirst()).compactMap { one, next in
            guard let first = one.arrival, let second = next.arrival else { return nil }
            return Point(seconds: seconds(next.time), value: Double(second - first) / 1e6)
        }
        offsets = Dictionary(
            configuration.publishers.map { publisher in
                (
                    publisher.id,
                    analysis.avOffsets(of: publisher).map {
                        Point(seconds: seconds(Int64($0.time.rounded())), value: $0.offset)
                    }
                )
            }
        ) { first, _ in first }.filter { !$0.value.isEmpty }
    }

    /// Writes the plot to `path` as an SVG, or as a PNG (by ffmpeg) if the name ends so. Blocking.
    public func write(to path: String) throws(ProbeError) {
        guard path.lowercased().hasSuffix(".png") else { return try Self.save(svg, to: path) }
        let drawing = path + ".svg"
        try Self.save(svg, to: drawing)
        defer { try? FileManager.default.removeItem(atPath: drawing) }
        let child = try ChildProcess(
            "ffmpeg", ["-hide_banner", "-nostdin", "-loglevel", "error", "-i", drawing, "-frames:v", "1", "-y", path])
        var complaint = ""
        while let line = child.nextLine() { complaint = line }
        let exit = child.waitForExit()
        guard exit == .status(0) else { throw .tool("ffmpeg ended with \(exit): \(complaint)") }
    }

    private static func save(_ text: String, to path: String) throws(ProbeError) {
        do {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        } catch {
            throw .file("cannot write \(path)")
        }
    }
}
