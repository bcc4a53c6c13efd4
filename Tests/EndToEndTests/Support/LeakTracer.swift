import Foundation

/// GStreamer's own count of the objects that are alive at a process's end, written to one file per process.
enum LeakTracer {
    /// The tracer's report at the end.
    struct Report: Equatable {
        /// Number of objects that the tracer counted; `nil` if it never reported.
        var listed: Int?
        /// Types of the objects that are alive.
        var objects: [String]
    }

    /// Environment for `Stage.run`. `leaks:7` makes the tracer also report the absence of leaks. Mixers from a fork
    /// server would share its file.
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
