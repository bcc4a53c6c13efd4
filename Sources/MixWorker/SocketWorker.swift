import Dispatch
import Foundation
import Logging
import ProgramRelay

/// The common parts of workers that outlive the service: sockets on the loop, and SIGTERM as the request to end.
enum SocketWorker {
    /// Prepares the process and runs `body` with a logger that never blocks on the log.
    static func run(_ label: String, logLevel: Logger.Level, _ body: (Logger) async throws -> Void) async throws {
        // A session of its own, so that closing the orchestrator's terminal does not end programs on air.
        setsid()
        signal(SIGPIPE, SIG_IGN)
        signal(SIGTERM, SIG_IGN)
        // The sockets must not wait for the log.
        let log = LogWriter(descriptor: FileHandle.standardError.fileDescriptor)
        defer { log.flush(within: 1) }
        LoggingSystem.bootstrap { WorkerLog.handler(label: $0, writer: log) }
        LoopPriority.raise()
        var logger = Logger(label: label)
        logger.logLevel = logLevel
        try await body(logger)
    }

    /// Runs `run`, and calls `end` when the process is asked to end.
    static func untilTerminated(_ end: @escaping @Sendable () -> Void, _ run: () async throws -> Void) async throws {
        let terminate = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        terminate.setEventHandler(handler: end)
        terminate.resume()
        defer { terminate.cancel() }
        try await run()
    }
}
