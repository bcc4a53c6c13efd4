import ArgumentParser
import ForkServer
import Foundation
import GStreamerKit
import Logging
import MixModel
import ProgramRelay

/// `mixworker relay`: owns one program until it is drained.
struct RelayCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Runs a program: pulls its sources, splices them and pushes to its outputs.",
        discussion: """
            Started by mixorchestrator, which sends it plans over the socket. While no orchestrator is connected, it keeps \
            the last plan on air, and exits after --orphan-timeout. On SIGTERM it closes its outputs and exits. With \
            --shared it runs the programs that the orchestrator names on its standard input, which is a socket; each \
            program has its own socket. It then exits when no program is left.
            """)

    @Option(help: "Identifier of the task.")
    var task: String?

    @Option(help: "Unix socket to listen on, at most 100 bytes long.")
    var socket: String?

    @Option(help: "Run the programs named on standard input (a socket), with their own sockets in this directory.")
    var shared: String?

    @Option(help: "With --shared: ms, 0 to 10, for which packets of calm programs may collect before they are read.")
    var quantum = 0

    @Option(help: "Seconds without an orchestrator after which the program ends.")
    var orphanTimeout: Double = 300

    @Flag(
        inversion: .prefixedNo,
        help: "Keep a spare mixer process (15 MB) beside a bypass that can become a mix, memory permitting.")
    var readyMixer = true

    @Option(
        help: "Unix socket of `mixworker forkserver`, which forks mixers. Default: start mixers directly.")
    var forkServer: String?

    @Option(help: "Encoder of mixers, as for `mixworker mixer`.")
    var encoder = "software"

    @Option(help: "Log level: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .info

    func validate() throws {
        let isShared = shared != nil
        guard isShared == (task == nil), isShared == (socket == nil) else {
            throw ValidationError("Name --task and --socket for one program, or --shared for several.")
        }
        guard (0...10).contains(quantum) else { throw ValidationError("--quantum is 0 to 10 ms.") }
    }

    func run() async throws {
        try await serve()
        // Called here, where no GStreamer object is referenced any more.
        if GStreamerRuntime.isWatchedForLeaks { GStreamerRuntime.shutDownForLeakCheck() }
    }

    private func serve() async throws {
        try await SocketWorker.run("relay", logLevel: logLevel) { logger in
            let worker = ownExecutable
            if let task, let socket {
                let relay = makeRelay(TaskID(task), socket, worker, nil, logger)
                try await SocketWorker.untilTerminated(relay.terminate) { try await relay.run() }
            } else {
                let shares = CPUShares()
                let input = FileHandle.standardInput.fileDescriptor
                let host = RelayHost(descriptor: input, quantum: quantum) { [self, logger] task, socket in
                    makeRelay(task, socket, worker, shares, logger)
                }
                try await SocketWorker.untilTerminated(host.terminate) { await host.run() }
            }
        }
    }

    private func makeRelay(
        _ task: TaskID, _ socket: String, _ worker: URL, _ shares: CPUShares?, _ logger: Logger
    ) -> Relay {
        var logger = logger
        logger[metadataKey: "task"] = "\(task)"
        let mixers = forkServer.map { path in
            ForkClient(path: path) { [logger] in logger.warning("a mixer is started, which takes longer: \($0)") }
        }
        return Relay(
            Relay.Configuration(
                task: task, socketPath: socket, orphanTimeout: orphanTimeout, worker: worker,
                keepsMixerReady: readyMixer, forkServer: mixers, encoder: encoder, shares: shares),
            logger: logger)
    }

    /// Path of this program, from the link `/proc/self/exe`. The first argument if the link cannot be read.
    private var ownExecutable: URL {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: path ?? CommandLine.arguments[0])
    }
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
