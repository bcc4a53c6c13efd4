import Foundation

/// GStreamer's own count of what is alive in a process at its end, written to a file of each process.
enum LeakTracer {
    /// What the tracer said at the end.
    struct Report: Equatable {
        /// How many objects it counted; `nil` = it never reported.
        var listed: Int?
        /// Types of what was alive.
        var objects: [String]
    }

    /// For `Stage.run`. `leaks:7` makes the tracer also say that there was nothing. Mixers that a fork server makes would have
    /// its file.
    static let environment = [
        "GST_TRACERS": "leaks", "GST_DEBUG": "GST_TRACER:7,leaks:7", "GST_DEBUG_NO_COLOR": "1",
        "GST_DEBUG_FILE": "%STAGE%/leaks-%p.log", "MIXORCHESTRATOR_MIXER_FORK_SERVER": "false",
    ]

    static func report(of process: Int32, in directory: URL) -> Report {
        let file = directory.appendingPathComponent("leaks-\(process).log")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        let listed = text.firstMatch(of: #/listed (\d+) alive objects/#).flatMap { Int($0.output.1) }
        let objects = text.matches(of: #/object-alive, type-name=\(string\)([^,;]+)/#).map { String($0.output.1) }
        return Report(listed: listed, objects: objects.filter { !$0.contains("%s") })
    }
}
