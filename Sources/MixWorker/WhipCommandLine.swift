import ArgumentParser
import Foundation
import WebRTCGateway

/// `mixworker whip`: one WebRTC publisher.
struct WhipCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whip",
        abstract: "Receives one publisher over WebRTC, and publishes its stream to the ingest.",
        discussion: """
            Started by mixorchestrator for each publisher over WHIP; receives the offer over the socket and returns the \
            answer. Forwards H.264 untouched and transcodes Opus to AAC. Exits when the publisher ends, after \
            --orphan-timeout without an orchestrator, and on SIGTERM.
            """)

    @OptionGroup var options: SocketOptions

    func run() async throws {
        try await SocketWorker.run("whip", logLevel: options.logLevel) { logger in
            if let warning = WorkerStart.containment?.warning { logger.warning("the worker \(warning)") }
            let process = StreamWorker<WhipPublication>(
                socket: options.socket, orphanTimeout: options.orphanTimeout, logger: logger)
            try await SocketWorker.untilTerminated({ process.terminate() }) { try await process.run() }
        }
    }
}
