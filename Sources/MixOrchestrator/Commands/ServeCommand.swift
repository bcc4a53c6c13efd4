import ArgumentParser
import ChildProcesses
import Foundation
import Hummingbird
import Logging
import NIOCore
import RoomService
import ServiceLifecycle
import TaskStore

extension LogFormat: ExpressibleByArgument {}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Runs the service.",
        discussion: """
            Every key of the configuration file can also be set in the environment as MIXORCHESTRATOR_{KEY}: \
            http.listen is MIXORCHESTRATOR_HTTP_LISTEN. Options override the environment, which overrides the file.

            SIGTERM and SIGINT end the programs on air and stop the service within 10 s: pending requests are \
            answered, changes are stored, exit code 0. With --keep-relays programs stay on air and the next start \
            takes them over, as after a crash. Without it, a node of a cluster with node.drainSeconds first moves its \
            rooms to other nodes, for at most that time. A second signal exits at once with code 143 (SIGTERM) or 130 (SIGINT); \
            a shutdown that takes longer than 10 s exits with code 1. In both cases relays already told to end do so, \
            and the others keep running.
            """)

    @Option(help: "YAML file with the configuration.")
    var config: String?
    @Option(help: "Address to serve HTTP on, host:port; loopback only unless there are tokens. Default 127.0.0.1:8080.")
    var listen: String?
    @Option(help: "Directory for the store and the relays' sockets. Default ./data.")
    var data: String?
    @Option(help: "Directory of layouts. Default ./layouts.")
    var layouts: String?
    @Flag(help: "Keep relays on air when the service stops.")
    var keepRelays = false

    @Option(help: "Log format: text, or json with one object per line. Default text.")
    var logFormat: LogFormat?

    /// Maximum time from the first signal to the end of the process.
    ///
    /// Connections take at most 2.5 s of it (`ConnectionGuard.Limits`), relays 7 s (`RoomRegistry.drainLimit`).
    static let shutdownLimit: Duration = .milliseconds(9900)

    func run() async throws {
        do {
            try await serve()
        } catch let error as StartupError {
            try fail("\(error)")
        } catch let error as StoreError {
            try fail("\(error)")
        }
    }

    private func serve() async throws {
        var configuration = try OrchestratorConfiguration(
            ConfigurationKeys.reader(file: config), file: config,
            overrides: .init(
                listen: listen, data: data, layouts: layouts, keepsRelays: keepRelays, logFormat: logFormat))
        // Every worker that it starts is killed before it when memory is short.
        OwnProcess.setMemoryShortage(-900)
        ServiceLogHandler.bootstrap(format: configuration.logFormat, level: configuration.logLevel)
        var logger = Logger(label: "mixorchestrator")
        logger.logLevel = configuration.logLevel
        let lowered = configuration.playback.fit(
            connections: configuration.http.maxConnections, descriptors: DescriptorLimit.raise())
        for warning in configuration.warnings + lowered { logger.warning("\(warning)") }
        for note in configuration.closedLists { logger.notice("\(note)") }
        // Before restoring anything: a second service must not affect the first one's relays.
        try configuration.listen.check()
        let lock = try DataDirectory(configuration.data)
        defer { lock.release() }
        ShutdownSignals.endStart()
        let metrics = Metrics()
        let store = try await StoreOpening.open(configuration, metrics, logger)
        let starter = RelayStarter(
            worker: configuration.worker, orphanTimeout: configuration.orphanTimeout,
            keepsMixersReady: configuration.keepsMixersReady,
            forkServer: configuration.forksMixers ? MixerForkServer.socket(data: configuration.data) : nil,
            programsPerProcess: configuration.programsPerProcess, quantum: configuration.quantum,
            encoder: configuration.encoder, logLevel: configuration.logLevel.rawValue, limits: configuration.limits)
        let shutdown = ShutdownNotice(logger: logger)
        let application = try await buildOrchestrator(
            configuration, store: store, starter: starter, logger: logger, shutdown: shutdown, metrics: metrics)
        for address in configuration.addresses { logger.info("\(address)") }
        do {
            let mixers = configuration.forksMixers ? [Self.mixers(configuration, logger)] : []
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(services: mixers + [application, shutdown], logger: logger))
            let drain = configuration.keepsRelays ? .zero : configuration.node?.drain ?? .zero
            try await ShutdownSignals(logger: logger, limit: Self.shutdownLimit + drain).watch {
                try await group.run()
                await store.close()
            } onFirst: {
                await shutdown.prepare()
                await group.triggerGracefulShutdown()
            }
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw configuration.listen.portInUse
        }
        logger.notice("stopped")
        Self.end()
    }

    /// Ends the process with exit code 0, without exit handlers: they free what libraries use on threads that still
    /// run, such as those of the event loops and of the cooperative pool. Everything is stored and answered by then.
    private static func end() -> Never {
        fflush(nil)
        _exit(0)
    }

    private static func mixers(_ configuration: OrchestratorConfiguration, _ logger: Logger) -> any Service {
        MixerForkServer(
            worker: configuration.worker, socket: MixerForkServer.socket(data: configuration.data),
            limits: configuration.limits, logger: logger)
    }

    private func fail(_ message: String) throws -> Never {
        FileHandle.standardError.write(Data("mixorchestrator: \(message)\n".utf8))
        throw ExitCode(1)
    }
}

/// The data directory, locked. The lock keeps two services from controlling the same relays.
struct DataDirectory {
    private let descriptor: Int32

    /// - Parameter creates: Whether the directories are created. Otherwise the directory must have a store.
    /// - Throws: `StartupError` if the directory cannot be created or written, if it has no store although it must, or
    ///   if another process has locked it.
    init(_ path: String, creates: Bool = true) throws(StartupError) {
        let store = StoreOpening.path(data: path)
        guard creates || FileManager.default.fileExists(atPath: store) else {
            throw StartupError("there is no store at \(store): name the service's data directory with --data")
        }
        do {
            // Mixers get the right to read images and media when they start, for which the directories must exist.
            let directories = [path, path + "/relays", path + "/images", MediaLibrary.downloads(in: path)]
            for directory in creates ? directories : [] {
                try FileManager.default.createDirectory(
                    atPath: directory, withIntermediateDirectories: true,
                    // The directory contains stream keys.
                    attributes: [.posixPermissions: 0o700])
            }
        } catch {
            let underlying = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
            let reason =
                underlying.map { String(cString: strerror(Int32(($0 as NSError).code))) } ?? error.localizedDescription
            throw Self.notWritable(path, reason)
        }
        descriptor = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.notWritable(path, String(cString: strerror(errno))) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw StartupError(
                "another mixorchestrator uses the data directory \(path): stop it, or name another with --data")
        }
    }

    func release() { close(descriptor) }

    private static func notWritable(_ path: String, _ reason: String) -> StartupError {
        StartupError(
            "cannot write to the data directory \(path): \(reason). "
                + "Give it to the user that runs this service, or name another with --data")
    }
}
