import ArgumentParser
import Foundation
import Logging
import MixModel
import ProgramRelay

/// `mixworker packager`: makes HLS of one program.
struct PackagerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "packager",
        abstract: "Packages a program as HLS: segments and playlists in a directory.",
        discussion: """
            Started by `mixworker relay` with one end of a socket pair as its standard input. Reads one line of JSON and \
            then the program as FLV; writes its status, one JSON object per line, to the same socket, or to standard \
            output if its input is a file or a pipe. Exits when its input ends.

            Example: (echo '{"directory":"/tmp/hls","settings":{"segmentSeconds":4,"windowSeconds":30,\
            "enableVOD":true,"renditions":[]}}'; cat program.flv) | mixworker packager
            """)

    func run() async throws {
        LoggingSystem.bootstrap { WorkerLog.handler(label: $0) }
        let logger = Logger(label: "mixworker.packager")
        signal(SIGPIPE, SIG_IGN)
        let input = ConsumerInput()
        let parent = getppid()
        guard let line = input.readSettings(),
            let plan = try? JSONDecoder().decode(PlannedHLS.self, from: Data(line))
        else { throw ValidationError("The first line of the input must be the packager's settings, see --help.") }
        let lock = await PackagerLock.take(plan)
        if lock == nil { logger.warning("\(plan.directory) cannot be locked") }
        defer { withExtendedLifetime(lock) {} }
        let packager = Packager(plan, worker: Self.executable, logger: logger) { status in
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.withoutEscapingSlashes]
            if let data = try? encoder.encode(status) { input.send([UInt8](data) + [0x0A]) }
        }
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<(any Error)?, Never>) in
            let thread = Thread {
                do {
                    while let bytes = input.read() { try packager.push(bytes) }
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error)
                }
            }
            thread.name = "packager-input"
            thread.start()
        }
        if let failure { logger.error("the program cannot be read: \(failure)") }
        // A killed relay did not mean to end the program; its successor continues it. The new parent of this process
        // shows a little after the end of the input.
        try? await Task.sleep(for: .milliseconds(100))
        await packager.finish(isInterrupted: failure != nil || getppid() != parent)
        if failure != nil { throw ExitCode.failure }
    }

    private static var executable: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    }
}
