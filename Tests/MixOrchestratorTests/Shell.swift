import Foundation

/// Returns what a script writes to its output.
func outputOfShell(_ script: String) async throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", script]
    let output = Pipe()
    process.standardOutput = output
    return try await withCheckedThrowingContinuation { continuation in
        // The service needs the threads of the pool.
        Thread.detachNewThread {
            do {
                try process.run()
                let data = output.fileHandleForReading.readDataToEndOfFile()
                process.waitUntilExit()
                continuation.resume(returning: String(decoding: data, as: UTF8.self))
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
