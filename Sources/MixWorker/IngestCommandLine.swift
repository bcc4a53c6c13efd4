import ArgumentParser
import Foundation
import StreamIngest

/// `mixworker ingest`: the RTMP server of the service.
struct IngestCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Receives streams of publishers over RTMP, and serves them to relays.",
        discussion: """
            Started by mixorchestrator if ingest.rtmp.listen is set; receives its addresses and the decisions about \
            publishers over the socket. While no orchestrator is connected, publishers stay connected; new ones wait a few \
            seconds and are then refused. Exits after --orphan-timeout without an orchestrator, and on SIGTERM.
            """)

    @OptionGroup var options: SocketOptions

    func run() async throws {
        try await SocketWorker.run("ingest", logLevel: options.logLevel) { logger in
            let process = IngestProcess(socket: options.socket, orphanTimeout: options.orphanTimeout, logger: logger)
            try await SocketWorker.untilTerminated({ process.terminate() }) { try await process.run() }
        }
    }
}
