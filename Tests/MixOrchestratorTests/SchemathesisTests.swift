import Foundation
import Testing

/// Requests of all kinds that schemathesis (schemathesis.io) generates from openapi.yaml, with its verdict on the
/// answers.
@Suite(.serialized, .timeLimit(.minutes(15))) struct SchemathesisTests {
    /// Runs the real service on its own port; scripts/schemathesis.sh can also be run by hand.
    ///
    /// - Parameter phases: Phases of schemathesis. Most requests belong to `coverage`, which behaves the same with
    /// tokens.
    @Test(arguments: [("open", "examples,coverage,fuzzing,stateful"), ("tokens", "examples,fuzzing")])
    func theRealServiceAnswersEverythingAsDocumented(_ mode: String, phases: String) async throws {
        let root = OpenAPIDocument.root
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let service = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("mixorchestrator")
        let output = FileManager.default.temporaryDirectory.appendingPathComponent("mix-st-\(UUID().uuidString).log")
        defer { try? FileManager.default.removeItem(at: output) }
        #expect(FileManager.default.createFile(atPath: output.path, contents: nil))
        let process = Process()
        process.executableURL = root.appendingPathComponent("scripts/schemathesis.sh")
        process.arguments = [mode, service.path]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "PHASES": phases, "EXAMPLES": "5", "SEED": "1",
        ]) { $1 }
        process.standardInput = FileHandle.nullDevice
        let file = try FileHandle(forWritingTo: output)
        process.standardOutput = file
        process.standardError = file
        let status = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { done.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                done.resume(throwing: error)
            }
        }
        let text = try String(contentsOf: output, encoding: .utf8)
        print(text.split(separator: "\n").suffix(12).joined(separator: "\n"))
        #expect(status == 0, "\(text.suffix(20_000))")
    }
}
