import ArgumentParser
import Foundation
import Logging
import StreamIngest

/// `mixworker ingest`: the RTMP server of the service.
struct IngestCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Takes streams that publishers send over RTMP, and lets relays play them.",
        discussion: """
            Started by mixorchestrator when ingest.rtmp.listen is set, which tells it over the socket where to listen and \
            who may publish. Publishers stay connected while no orchestrator is there; new ones wait some seconds and are \
            then refused. It exits after --orphan-timeout without an orchestrator, and on SIGTERM.
            """)

    @Option(help: "Unix socket to listen on, at most 100 bytes long.")
    var socket: String

    @Option(help: "Seconds without an orchestrator after which the process ends.")
    var orphanTimeout: Double = 300

    @Option(help: "Log level: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info

    func run() async throws {
        try await SocketWorker.run("ingest", logLevel: logLevel) { logger in
            let process = IngestProcess(socket: socket, orphanTimeout: orphanTimeout, logger: logger)
            try await SocketWorker.untilTerminated({ process.terminate() }) { try await process.run() }
        }
    }
}
