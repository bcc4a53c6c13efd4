import ChildProcesses
import Foundation
import Logging
import MixModel
import NIOCore
import Synchronization
import TextFormats

/// The connection to a WebRTC worker, which may outlive this process: starts the worker, unless an earlier run has, and
/// keeps a connection to its socket for as long as it runs. Thread-safe.
///
/// Both sides send one JSON object per line.
final class WorkerLink<Command: Encodable & Sendable, Report: Decodable & Sendable>: Sendable {
    enum Event: Sendable {
        /// The worker is connected: `send` reaches it.
        case attached
        case report(Report)
        /// The connection has ended; another one may follow.
        case detached
        /// The last event: the worker is gone, or never started.
        case lost(reason: String)
    }

    private let starter: SocketWorkerStarter
    private let socket: String
    private let log: String
    private let isAdopted: Bool
    private let longestLine: Int
    private let logger: Logger
    private let line = Mutex<AsyncStream<ByteBuffer>.Continuation?>(nil)
    /// Whether the service is shutting down and leaves the worker running.
    private let isLeft = Atomic(false)

    /// Time within which a worker must listen after its start, even on a busy machine, and after a connection to it was
    /// lost.
    private static var connectLimits: (first: Duration, again: Duration) { (.seconds(15), .seconds(1)) }

    /// - Parameters:
    ///   - socket: The worker's Unix socket.
    ///   - log: File for the output of a worker that is started.
    ///   - isAdopted: Whether an earlier run of the service has started the worker.
    ///   - longestLine: Longest line of a report in bytes; a worker that sends more is disconnected.
    init(
        _ starter: SocketWorkerStarter, socket: String, log: String, isAdopted: Bool, longestLine: Int, logger: Logger
    ) {
        self.starter = starter
        self.socket = socket
        self.log = log
        self.isAdopted = isAdopted
        self.longestLine = longestLine
        self.logger = logger
    }

    /// Sends a command. Without a connection it is dropped.
    func send(_ command: Command) {
        guard var text = try? DocumentEncoder.json(command) else { return }
        text += "\n"
        let bytes = ByteBuffer(string: text)
        line.withLock { _ = $0?.yield(bytes) }
    }

    /// Sends what is pending, and then nothing more.
    func finish() { line.withLock { $0?.finish() } }

    /// Lets the worker continue without the service.
    func leave() { isLeft.store(true, ordering: .relaxed) }

    /// Runs until the worker is gone. A worker that was started and not left is killed if this is cancelled.
    ///
    /// - Parameter onEvent: Called with one event after another; returns whether there was room for it. A worker whose
    ///   reports find no room is disconnected. Other events are repeated until there is room.
    func run(_ onEvent: @escaping @Sendable (Event) -> Bool) async {
        var process: LaunchedProcess?
        if !isAdopted {
            do throws(RelayError) {
                process = try starter.start(socket: socket, log: log)
            } catch {
                return await pass(.lost(reason: error.description), to: onEvent)
            }
        }
        await talk(to: process, onEvent)
        guard let process else { return }
        // No other code knows of the process at this point: it is waited for, and killed if it does not end.
        if Task.isCancelled, isLeft.load(ordering: .relaxed) { return process.onExit { _ in } }
        if process.isRunning { process.signal(SIGKILL) }
        process.onExit { _ in }
    }

    /// Passes on an event that must not be lost: without it, a worker would get no hello, or would count as running
    /// forever.
    private func pass(_ event: Event, to onEvent: @Sendable (Event) -> Bool) async {
        await RepeatedOffer.untilTaken { onEvent(event) }
    }

    private func talk(to process: LaunchedProcess?, _ onEvent: @escaping @Sendable (Event) -> Bool) async {
        var limit = isAdopted ? Self.connectLimits.again : Self.connectLimits.first
        var pause = ReconnectPause()
        while !Task.isCancelled {
            guard let connection = await connect(process, within: limit) else {
                if !Task.isCancelled { await pass(.lost(reason: Self.description(process)), to: onEvent) }
                return
            }
            let start = ContinuousClock.now
            limit = Self.connectLimits.again
            let (lines, line) = AsyncStream.makeStream(of: ByteBuffer.self)
            let peer = await connection.peerProcess
            let isHeard = Atomic(false)
            self.line.withLock { $0 = line }
            await pass(.attached, to: onEvent)
            do {
                try await connection.exchange(lines, longestLine: longestLine) { bytes in
                    isHeard.store(true, ordering: .relaxed)
                    guard onEvent(.report(try JSONDecoder().decode(Report.self, from: Data(bytes)))) else {
                        throw RelayError.protocolViolation("too many reports wait")
                    }
                }
            } catch {
                // A worker that says nothing before its client has arrived is connected to again; it must then say
                // hello.
                if case RelayError.silent = error, !isHeard.load(ordering: .relaxed), peer > 1, peer != getpid() {
                    logger.error("a WebRTC worker hangs and is being killed", metadata: ["pid": "\(peer)"])
                    kill(peer, SIGKILL)
                } else if !Task.isCancelled {
                    logger.debug("connection to a WebRTC worker: \(error)")
                }
            }
            line.finish()
            await pass(.detached, to: onEvent)
            try? await Task.sleep(for: pause.next(after: ContinuousClock.now - start))
        }
    }

    private func connect(_ process: LaunchedProcess?, within limit: Duration) async -> RelayConnection? {
        let end = ContinuousClock.now + limit
        while !Task.isCancelled, ContinuousClock.now < end {
            if let connection = try? await RelayConnection.open(path: socket) { return connection }
            if let process, !process.isRunning { return nil }
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return nil }
        }
        return nil
    }

    private static func description(_ process: LaunchedProcess?) -> String {
        switch process?.exit {
        case nil: "the worker does not answer"
        case .status(let status)?: "the worker exited with status \(status)"
        case .signal(let number)?: "the worker was killed by signal \(number)"
        case .unknown?: "the worker ended"
        }
    }
}
