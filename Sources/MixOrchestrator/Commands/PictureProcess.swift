import ChildProcesses
import Foundation
import RoomService

/// Converts SVG to PNG with `mixworker picture`, because this program has no graphics of its own.
enum PictureProcess {
    /// Converts a document and writes the PNG file.
    ///
    /// - Throws: `StartupError` with the remedy if the worker is missing or fails.
    static func write(_ svg: String, png: String, worker: String = defaultWorker) async throws {
        guard access(worker, X_OK) == 0 else {
            throw StartupError(
                "PNG output needs mixworker, which is not at \(worker): build it, set MIXORCHESTRATOR_WORKER, "
                    + "or write a file that ends in .svg")
        }
        let input = FileManager.default.temporaryDirectory.appendingPathComponent("layout-\(UUID().uuidString).svg")
        defer { try? FileManager.default.removeItem(at: input) }
        try Data(svg.utf8).write(to: input)
        let (exit, complaint) = try await offPool { () throws(StartupError) in
            try run(worker, ["picture", "--svg", input.path, "--png", png])
        }
        guard exit == .status(0) else { throw StartupError("\(worker) picture cannot write \(png): \(complaint)") }
    }

    /// The worker at the place where the service looks for it.
    private static var defaultWorker: String {
        ProcessInfo.processInfo.environment["MIXORCHESTRATOR_WORKER"] ?? OrchestratorConfiguration.defaultWorker
    }

    private static func run(_ program: String, _ arguments: [String]) throws(StartupError) -> (ProcessExit, String) {
        var launch = ProcessLaunch(program, arguments)
        launch.output = .null
        do throws(ProcessLaunch.Failure) {
            let (complaint, exit) = try launch.run(collecting: \.errors)
            let words = String(decoding: complaint, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            return (exit, words.isEmpty ? "no error message" : words)
        } catch {
            throw StartupError(error.description)
        }
    }
}
