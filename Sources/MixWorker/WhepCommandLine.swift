import ArgumentParser
import WebRTCGateway

/// `mixworker whep`: the viewers of one stream over WebRTC.
struct WhepCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whep",
        abstract: "Plays one stream to viewers over WebRTC.",
        discussion: """
            Started by mixorchestrator for each stream that is watched over WHEP; receives the viewers' offers over the \
            socket and returns the answers. Reads a program from its relay, or a publisher's stream from the ingest or \
            over RTMP from another server. \
            Forwards H.264 untouched and transcodes AAC to Opus, once for all viewers. Exits when the stream has been \
            missing for too long, after --orphan-timeout without an orchestrator, and on SIGTERM.
            """)

    @OptionGroup var options: SocketOptions

    func run() async throws {
        try await SocketWorker.run("whep", logLevel: options.logLevel) { logger in
            if let warning = WorkerStart.containment?.warning { logger.warning("the worker \(warning)") }
            let process = StreamWorker<WhepPlayback>(
                socket: options.socket, orphanTimeout: options.orphanTimeout, logger: logger)
            try await SocketWorker.untilTerminated({ process.terminate() }) { try await process.run() }
        }
    }
}
