import EncodedMedia
import Foundation
import Logging
import MixModel
import RTMP
import TextFormats

/// The process to which publishers and players connect: an `IngestServer` and the Unix socket through which the
/// orchestrator controls it.
///
/// The process continues without the orchestrator. It ends when no orchestrator has been connected for some time, or on
/// command.
///
/// `@unchecked Sendable`: all state belongs to the socket loop.
public final class IngestProcess: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private let path: String
    private let orphanTimeout: Int64
    private let logger: Logger
    private var socket: ControlSocket?
    private var server: IngestServer?
    private let orphan = LoopDeadline()
    private let ticker = LoopDeadline()
    private var ending: CheckedContinuation<Void, any Error>?
    private var isOver = false

    /// Time in ns between two reports of figures, which show the orchestrator that this process does not hang.
    private static let interval: Int64 = 2_000_000_000

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without an orchestrator after which the process ends.
    public init(socket: String, orphanTimeout: Double, logger: Logger) {
        path = socket
        self.orphanTimeout = Int64(min(max(orphanTimeout, 1), 1e6) * 1e9)
        self.logger = logger
    }

    /// Runs until told to end.
    ///
    /// - Throws: A description of why listening on the Unix socket failed.
    public func run() async throws {
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // On the loop, so that no line arrives before everything is set up.
            loop.perform { [self] in
                do throws(UnixListener.Failure) {
                    socket = try ControlSocket(
                        path: path, longestLine: IngestCommand.longestLine,
                        onLine: { [weak self] in self?.read($0, from: $1) }, onLost: { [weak self] in self?.lost() })
                } catch { return continuation.resume(throwing: error) }
                ending = continuation
                server = IngestServer(run: run, logger: logger) { [weak self] in self?.send($0) }
                orphan.begin { [weak self] in
                    self?.logger.notice("no service has connected for a long time")
                    self?.end()
                }
                orphan.set(MonotonicClock.now() + orphanTimeout)
                ticker.begin { [weak self] in self?.tick() }
                if isOver { end() }
            }
        }
    }

    /// Ends all connections, and then `run()`. Safe to call from any thread.
    public func terminate() { loop.perform { [self] in end() } }

    private func end() {
        isOver = true
        guard let ending else { return }
        self.ending = nil
        socket?.close()
        socket = nil
        server?.close()
        server = nil
        orphan.end()
        ticker.end()
        ending.resume()
    }

    // MARK: - The orchestrator

    private func read(_ line: Data, from sender: ControlSocket.Sender) {
        guard let command = try? JSONDecoder().decode(IngestCommand.self, from: line) else {
            return logger.error("a line of the service is not a command")
        }
        if case .hello(let version) = command {
            guard version == IngestCommand.version else {
                let reason = "the ingest speaks version \(IngestCommand.version), not \(version)"
                return send(.refused(reason: reason), to: sender)
            }
            socket?.obey(sender)
            orphan.set(.max)
            ticker.set(MonotonicClock.now() + Self.interval)
        } else if socket?.service != sender {
            return
        }
        if command == .terminate { return end() }
        server?.handle(command)
    }

    private func lost() {
        server?.abandoned()
        orphan.set(MonotonicClock.now() + orphanTimeout)
    }

    private func tick() {
        guard socket?.service != nil, let server else { return }
        send(.figures(server.figures))
        ticker.set(MonotonicClock.now() + Self.interval)
    }

    private func send(_ report: IngestReport, to receiver: ControlSocket.Sender? = nil) {
        guard let line = try? DocumentEncoder.json(report) else { return }
        socket?.send(line, to: receiver)
    }
}
