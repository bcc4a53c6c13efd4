import ArgumentParser
import ChildProcesses
import ForkServer
import Foundation
import GStreamerKit
import Logging
import ProgramMixer
import ProgramRelay

/// `mixworker forkserver`: loads everything that a mixer needs, and makes mixers by `fork()`.
struct ForkServerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forkserver",
        abstract: "Forks mixers for relays, so that they start at once and share the memory of their libraries.",
        discussion: """
            Started by mixorchestrator. Exits when its standard input ends; its mixers keep running. A relay that cannot \
            reach it starts mixers itself.
            """)

    @Option(help: "Unix socket to listen on, at most 107 bytes long.")
    var socket: String

    /// Serves, if these are the arguments of a fork server. Runs while the process has one thread, before anything
    /// else.
    ///
    /// - Parameter arguments: The process's arguments, including its name.
    /// - Returns: In each new process, its arguments. `nil` if the process is not a fork server, or if its arguments
    ///   are wrong, which their next reader reports.
    static func serve(_ arguments: [String]) -> [String]? {
        guard arguments.dropFirst().first == configuration.commandName,
            let command = try? parse(Array(arguments.dropFirst(2)))
        else { return nil }
        let log = Logger(label: "mixworker.forkserver") { WorkerLog.handler(label: $0) }
        do {
            OwnProcess.prepareForChildren()
            // All mixers share the memory of everything that is loaded and created here.
            try GStreamerRuntime.start()
            GStreamerRuntime.load(Mixer.elements)
            _ = try MixWorker.parseAsRoot([MixerCommandLine.configuration.commandName ?? "mixer"])
            var server = try ForkServer(
                path: command.socket, lifeline: FileHandle.standardInput.fileDescriptor,
                kinds: [WorkerKind.mixer.rawValue], log: { log.warning("\($0)") })
            switch server.run(setTitle: { ProcessTitle.set([arguments[0]] + $0) }) {
            case .over: Foundation.exit(0)
            case .child(let request): return [arguments[0]] + request
            }
        } catch {
            log.error("mixers cannot be made: \(error)")
            Foundation.exit(1)
        }
    }

    func run() throws { throw CleanExit.helpRequest(self) }
}
