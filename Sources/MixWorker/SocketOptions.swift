import ArgumentParser
import Logging

/// Options of a worker that the orchestrator controls over a Unix socket, and that outlives it.
struct SocketOptions: ParsableArguments {
    @Option(help: "Unix socket to listen on, at most 100 bytes long.")
    var socket: String

    @Option(help: "Seconds without an orchestrator after which the process ends.")
    var orphanTimeout: Double = 300

    @Option(help: "Log level: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info
}
