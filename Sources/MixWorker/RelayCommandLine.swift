import ArgumentParser
import Dispatch
import Foundation
import GStreamerKit
import Logging
import MixModel
import ProgramRelay

/// `mixworker relay`: owns one program until it is drained.
struct RelayCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Runs one program: pulls its sources, splices them and pushes to its outputs.",
        discussion: """
            Started by mixorchestrator, which tells it over the socket what to put on air. It keeps the last plan on \
            air while no orchestrator is connected, and exits after --orphan-timeout. SIGTERM closes its outputs and \
            ends it.
            """)

    @Option(help: "Identifier of the task.")
    var task: String

    @Option(help: "Unix socket to listen on, at most 100 bytes long.")
    var socket: String

    @Option(help: "Seconds without an orchestrator after which the program ends.")
    var orphanTimeout: Double = 300

    @Flag(
        inversion: .prefixedNo,
        help: "Keep a spare mixer process (15 MB) beside a bypass that others may join, memory permitting.")
    var readyMixer = true

    @Option(help: "Log level: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info

    func run() async throws {
        try await serve()
        // Called here, where no GStreamer object is held any more.
        if GStreamerRuntime.isWatchedForLeaks { GStreamerRuntime.shutDownForLeakCheck() }
    }

    private func serve() async throws {
        // A session of its own, so that closing the orchestrator's terminal does not end the program.
        setsid()
        signal(SIGPIPE, SIG_IGN)
        signal(SIGTERM, SIG_IGN)
        // The relay shares a thread with its sockets, which must not wait for the log.
        let log = LogWriter(descriptor: FileHandle.standardError.fileDescriptor)
        defer { log.flush(within: 1) }
        LoggingSystem.bootstrap { WorkerLog.handler(label: $0, writer: log) }
        var logger = Logger(label: "relay")
        logger.logLevel = logLevel
        logger[metadataKey: "task"] = "\(task)"
        let relay = Relay(
            Relay.Configuration(
                task: TaskID(task), socketPath: socket, orphanTimeout: orphanTimeout, worker: ownExecutable,
                keepsMixerReady: readyMixer),
            logger: logger)
        let terminate = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        terminate.setEventHandler { relay.terminate() }
        terminate.resume()
        defer { terminate.cancel() }
        try await relay.run()
    }

    /// Path of this program, as the link `/proc/self/exe` names it. The first argument if the link cannot be read.
    private var ownExecutable: URL {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: path ?? CommandLine.arguments[0])
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
