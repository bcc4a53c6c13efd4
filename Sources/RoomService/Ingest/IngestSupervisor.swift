import ChildProcesses
import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import NIOCore
import ServiceLifecycle
import Synchronization

/// Starts the ingest, finds it again after a restart, and turns its reports into events.
///
/// A publisher continues only after its event is stored.
package final class IngestSupervisor: Service {
    package struct Configuration: Sendable {
        var rules: IngestRules
        var files: IngestFiles
        var starter: SocketWorkerStarter
        /// Whether the ingest keeps running when the service shuts down.
        var isKept: Bool
        /// The hook that is asked about publishers in addition to the gate; `nil` = none.
        var hook: PublishHook?
        /// Addresses at which the hook's server may be: `callbacks.allow`.
        var callbacks: AllowList
        /// The gateway from which the ingest reads programs of other nodes; `nil` = there are none.
        var programs: ProgramGateway?
        /// Whether the service runs an ingest. If not, an ingest of an earlier run is ended, and with it its streams.
        var isOn = true

        package init(
            rules: IngestRules, files: IngestFiles, starter: SocketWorkerStarter, isKept: Bool, hook: PublishHook?,
            callbacks: AllowList, programs: ProgramGateway? = nil
        ) {
            self.programs = programs
            self.rules = rules
            self.files = files
            self.starter = starter
            self.isKept = isKept
            self.hook = hook
            self.callbacks = callbacks
        }

        /// Returns a configuration without an ingest; `nil` if no earlier run has left files.
        package static func off(data: String, starter: SocketWorkerStarter, callbacks: AllowList) throws(StartupError)
            -> Configuration?
        {
            guard IngestFiles.exist(in: data) else { return nil }
            var rules = IngestRules(host: "127.0.0.1", port: 1935)
            rules.grace = 0
            var off = Configuration(
                rules: rules, files: try IngestFiles(data: data), starter: starter, isKept: true, hook: nil,
                callbacks: callbacks)
            off.isOn = false
            return off
        }
    }

    private enum Input: Sendable {
        case report(IngestReport)
        case connected(AsyncStream<ByteBuffer>.Continuation)
        case disconnected
        case tick
        /// Another node says that it has the stream.
        case look(String)
    }

    private let configuration: Configuration
    private let secret: String
    private let gate: any IngestGate
    private let registry: RoomRegistry
    private let courier: StreamCourier
    private let logger: Logger
    /// Whether the service is shutting down. If so, no further ingest is started.
    private let isStopping = Mutex(false)
    /// The worker that handles the reports; `nil` while none does.
    private let worker = Mutex<IngestWorker?>(nil)
    private let inputs: AsyncStream<Input>
    private let input: AsyncStream<Input>.Continuation

    /// Time within which an ingest must listen after its start.
    private static let startLimit: Duration = .seconds(10)
    /// Time within which an ingest says how many publishers it asks to reconnect. Those of earlier releases do not.
    private static let answerLimit: Duration = .milliseconds(500)
    /// Pause between two attempts to reach or start an ingest: the first, and the longest.
    private static let pauses: (first: Duration, longest: Duration) = (.milliseconds(50), .seconds(5))
    /// Maximum number of reports that wait to be handled.
    private static let mostReports = 4096

    /// - Throws: `StartupError` if the secret cannot be stored.
    package init(
        _ configuration: Configuration, gate: any IngestGate, registry: RoomRegistry, courier: StreamCourier,
        logger: Logger
    ) throws(StartupError) {
        self.courier = courier
        self.configuration = configuration
        self.gate = gate
        self.registry = registry
        self.logger = logger
        secret = try configuration.files.secret()
        // If this many reports wait, the connection is dropped, and the ingest reports everything anew.
        (inputs, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostReports))
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.keepConnected() }
                group.addTask {
                    while (try? await Task.sleep(for: .milliseconds(250))) != nil { self.input.yield(.tick) }
                }
                await self.handleInputs()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.isStopping.withLock { $0 = true }
            self.input.finish()
        }
    }

    // MARK: - The process

    /// Ends the ingest of an earlier run. Its streams then count as missing, so that their rooms are notified.
    private func endLeftover() async {
        guard let connection = try? await RelayConnection.open(path: configuration.files.socket) else { return }
        let (lines, line) = AsyncStream.makeStream(of: ByteBuffer.self)
        for command in [IngestCommand.hello(version: IngestCommand.version), .terminate] {
            if let text = try? DocumentEncoder.json(command) { line.yield(ByteBuffer(string: text + "\n")) }
        }
        logger.notice("the RTMP ingest of an earlier run ends, because ingest.rtmp.listen is not set any more")
        try? await connection.exchange(lines, longestLine: IngestCommand.longestLine) { _ in }
    }

    private func keepConnected() async {
        guard configuration.isOn else { return await endLeftover() }
        var pause = Self.pauses.first
        var process: LaunchedProcess?
        var logged: String?
        var peer: Int32 = 0
        while !Task.isCancelled {
            do {
                let connection = try await connect(&process)
                logged = nil
                pause = Self.pauses.first
                peer = await connection.peerProcess
                try await talk(over: connection)
                throw RelayError.notStarted("the ingest closed its connection")
            } catch {
                if Task.isCancelled || isStopping.withLock({ $0 }) { return }
                await pass(.disconnected)
                let reason = process.flatMap { Self.description($0) } ?? "\(error)"
                if logged != reason { logger.error("ingest: \(reason), its log is \(configuration.files.log)") }
                logged = reason
                if case RelayError.silent = error, peer > 1, peer != getpid() {
                    // Another process can then use its port.
                    logger.error("the ingest hangs and is being killed", metadata: ["pid": "\(peer)"])
                    kill(peer, SIGKILL)
                }
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.pauses.longest)
        }
    }

    private static func description(_ process: LaunchedProcess) -> String? {
        switch process.exit {
        case nil: nil
        case .status(let status): "process \(process.processID) exited with status \(status)"
        case .signal(let number): "process \(process.processID) was killed by signal \(number)"
        case .unknown: "process \(process.processID) ended"
        }
    }

    /// Connects to the running ingest, or starts one.
    private func connect(_ process: inout LaunchedProcess?) async throws -> RelayConnection {
        let files = configuration.files
        if let connection = try? await RelayConnection.open(path: files.socket) { return connection }
        if let process, process.isRunning { process.signal(SIGKILL) }
        let started = try configuration.starter.start(socket: files.socket, log: files.log)
        process = started
        logger.info("ingest started", metadata: ["pid": "\(started.processID)"])
        let limit = ContinuousClock.now + Self.startLimit
        while ContinuousClock.now < limit, started.isRunning {
            if let connection = try? await RelayConnection.open(path: files.socket) { return connection }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw RelayError.notStarted("the ingest did not listen within \(Self.startLimit)")
    }

    private func talk(over connection: RelayConnection) async throws {
        let (lines, line) = AsyncStream.makeStream(of: ByteBuffer.self)
        defer { line.finish() }
        await pass(.connected(line))
        try await connection.exchange(lines, longestLine: IngestCommand.longestLine) { [input] bytes in
            let report = try JSONDecoder().decode(IngestReport.self, from: Data(bytes))
            if case .dropped = input.yield(.report(report)) {
                throw RelayError.protocolViolation("more than \(Self.mostReports) reports wait")
            }
        }
    }

    /// Hands on news of the connection. Without it, an ingest would get no hello, or its streams would not count as
    /// missing.
    private func pass(_ news: Input) async {
        await RepeatedOffer.untilTaken {
            if case .dropped = input.yield(news) { return false }
            return true
        }
    }

    // MARK: - Reports

    private func handleInputs() async {
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        let worker = IngestWorker(
            configuration: configuration, secret: secret, gate: gate, registry: registry, courier: courier,
            logger: logger,
            desk: IngestDesk(
                run: run, journal: configuration.files.journal(at: configuration.rules.pullPlace),
                now: MonotonicClock.now()),
            circles: ProgramCircles(origins: configuration.files.origins))
        self.worker.withLock { $0 = worker }
        defer { self.worker.withLock { $0 = nil } }
        // What is under way when the inputs end is finished.
        await withDiscardingTaskGroup { group in
            for await input in inputs {
                var jobs: [IngestWorker.Job] = []
                switch input {
                case .connected(let line): await worker.connected(line)
                case .disconnected: await worker.disconnected()
                case .report(let report): jobs = await worker.handle(report)
                case .tick: jobs = await worker.tick()
                case .look(let stream): jobs = await worker.lookSoon(at: stream)
                }
                for job in jobs { group.addTask { await worker.run(job) } }
            }
        }
        await worker.close()
    }
}

extension IngestSupervisor: LocalStreams {
    package func hasPublisher(of stream: String) async -> Bool? {
        guard let worker = worker.withLock({ $0 }) else { return nil }
        return await worker.hasPublisher(of: stream)
    }

    package func activity(of stream: String) async -> PublisherActivity {
        await worker.withLock({ $0 })?.activity(of: stream) ?? PublisherActivity()
    }

    package func sendPublishersAway(while isWanted: @Sendable () -> Bool) async -> Int {
        guard configuration.isOn, let worker = worker.withLock({ $0 }) else { return 0 }
        await worker.askToReconnect()
        let answer = ContinuousClock.now + Self.answerLimit
        while true {
            let left = await worker.reconnecting
            if left == 0 || !isWanted() { return left ?? 0 }
            if left == nil, ContinuousClock.now >= answer { return 0 }
            guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return left ?? 0 }
        }
    }

    package func look(at stream: String) { input.yield(.look(stream)) }

    package var origins: [String: RoomID] {
        get async { await worker.withLock { $0 }?.programOrigins ?? [:] }
    }
}
