import Foundation

/// A PNG of the pictures that viewers saw around each switch: one row per switch, with the first new picture framed.
public enum ContactSheet {
    /// Pictures in a row; half of them are before the switch.
    static let columns = 8
    private static let cell = (width: 180, height: 320)

    /// Writes `output` (PNG). Blocks. Has no effect if there is no switch.
    ///
    /// - Parameter mostRows: Maximum number of switches to draw, from the first one on.
    public static func write(
        _ recording: FLVRecording, _ report: ProbeReport, to output: String, mostRows: Int = 12
    ) throws(ProbeError) {
        let trace = try recording.trace()
        guard !trace.configurations.contains(where: { $0.videoCodec == .h265 }) else {
            throw .tool("a contact sheet needs H.264 only, but this program also has H.265: leave it out")
        }
        let times = TimingAnalysis(trace).videoTimes
        var rows: [[Int64]] = []
        for change in report.switches.prefix(mostRows) {
            guard let first = times.firstIndex(of: change.time) else { continue }
            let start = max(0, first - columns / 2)
            rows.append(Array(times[start..<min(times.count, start + columns)]))
        }
        guard !rows.isEmpty else { return }
        let wanted = Set(rows.joined()).sorted()
        let framed = Set(report.switches.map(\.time))
        let (width, height) = cell
        func any(_ times: [Int64]) -> String {
            times.map { "between(t,\(Double($0) / 1000 - 0.0004),\(Double($0) / 1000 + 0.0004))" }
                .joined(separator: "+")
        }
        let filters = [
            "select='\(any(wanted))'",
            "scale=\(width):\(height):force_original_aspect_ratio=decrease",
            "pad=\(width):\(height):-1:-1:gray",
            "drawbox=t=4:color=lime:enable='\(any(wanted.filter(framed.contains)))'",
        ]
        let label = "drawtext=text='%{pts\\:hms}':x=6:y=6:fontsize=16:fontcolor=white:box=1:boxcolor=black@0.6"
        // The program's size may change at a splice, which restarts the filters, so the tiling is a second step.
        func draw(_ filters: [String]) throws(ProbeError) -> [UInt8] {
            let graph = (filters + ["format=rgb24"]).joined(separator: ",")
            return try run(
                ["-copyts", "-i", recording.path, "-an", "-vf", graph, "-fps_mode", "passthrough"]
                    + ["-f", "rawvideo", "pipe:1"])
        }
        let pictures: [UInt8]
        do {
            pictures = try draw(filters + [label])
        } catch {
            // A machine without any font cannot draw the times; the pictures are useful without them.
            pictures = try draw(filters)
        }
        let raw = output + ".rgb"
        guard FileManager.default.createFile(atPath: raw, contents: Data(pictures)) else {
            throw .file("cannot write \(raw)")
        }
        defer { try? FileManager.default.removeItem(atPath: raw) }
        let lines = (wanted.count + columns - 1) / columns
        _ = try run(
            [
                "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "\(width)x\(height)", "-i", raw, "-vf",
                "tile=\(columns)x\(lines):padding=4:margin=4:color=0x303030", "-frames:v", "1", "-update", "1", "-y",
                output,
            ])
    }

    private static func run(_ arguments: [String]) throws(ProbeError) -> [UInt8] {
        let child = try ChildProcess("ffmpeg", ["-hide_banner", "-nostdin", "-loglevel", "error"] + arguments)
        let bytes = child.readAll()
        var complaint = ""
        while let line = child.nextLine() { complaint = line }
        let exit = child.waitForExit()
        guard exit == .status(0) else { throw .tool("ffmpeg ended with \(exit): \(complaint)") }
        return bytes
    }
}
