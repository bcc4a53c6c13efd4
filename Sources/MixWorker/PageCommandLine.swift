import ArgumentParser
import Foundation
import PageCapture
import WebRTCGateway

/// `mixworker page`: one web page as a stream.
struct PageCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page",
        abstract: "Opens one web page in a browser, and publishes its picture and sound to the ingest.",
        discussion: """
            Started by mixorchestrator for each page; receives the page over the socket. Starts a virtual display, a sound \
            server and Chromium, and ends them when it exits. Exits when the page ends, after --orphan-timeout without an \
            orchestrator, and on SIGTERM.
            """)

    @OptionGroup var options: SocketOptions

    func run() async throws {
        try await SocketWorker.run("page", logLevel: options.logLevel) { logger in
            let process = StreamWorker<PagePublication>(
                socket: options.socket, orphanTimeout: options.orphanTimeout, logger: logger)
            try await SocketWorker.untilTerminated({ process.terminate() }) { try await process.run() }
        }
    }
}
