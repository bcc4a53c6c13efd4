import ArgumentParser
import Foundation
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

    @OptionGroup var options: SocketOptions

    func run() async throws {
        try await SocketWorker.run("ingest", logLevel: options.logLevel) { logger in
            let process = IngestProcess(socket: options.socket, orphanTimeout: options.orphanTimeout, logger: logger)
            try await SocketWorker.untilTerminated({ process.terminate() }) { try await process.run() }
        }
    }
}
