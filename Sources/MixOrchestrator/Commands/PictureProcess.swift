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
        let (status, complaint) = try await offPool { () throws(StartupError) in
            try run(worker, ["picture", "--svg", input.path, "--png", png])
        }
        guard status == 0 else { throw StartupError("\(worker) picture cannot write \(png): \(complaint)") }
    }

    /// The worker as the service finds it.
    private static var defaultWorker: String {
        ProcessInfo.processInfo.environment["MIXORCHESTRATOR_WORKER"] ?? OrchestratorConfiguration.defaultWorker
    }

    private static func run(_ program: String, _ arguments: [String]) throws(StartupError) -> (Int32, String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        let errors = Pipe()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw StartupError("\(program) cannot be started: \(error.localizedDescription)")
        }
        let complaint = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let words = String(decoding: complaint, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return (process.terminationStatus, words.isEmpty ? "no error message" : words)
    }
}
