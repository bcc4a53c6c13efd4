import EncodedMedia
import Foundation
import Logging
import MixModel
import RTMP
import TextFormats

/// The process that publishers and players connect to: an `IngestServer` and the Unix socket by which the orchestrator
/// rules it.
///
/// It goes on without the orchestrator, and ends when none has been there for a time, or when it is told to.
///
/// `@unchecked Sendable`: all state belongs to the socket loop.
public final class IngestProcess: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private let socket: String
    private let orphanTimeout: Int64
    private let logger: Logger
    private var listener: UnixListener?
    private var server: IngestServer?
    /// The connection of the orchestrator that has said hello; others have not yet.
    private var control: Control?
    private var others: [ObjectIdentifier: Control] = [:]
    private let orphan = LoopDeadline()
    private let ticker = LoopDeadline()
    private var ending: CheckedContinuation<Void, Never>?
    private var isOver = false

    /// Bytes that may wait for an orchestrator before it is disconnected: every stream and request is a line.
    private static let longestBacklog = 8 << 20
    /// Connections to the Unix socket beside the orchestrator's.
    private static let mostOthers = 16
    /// Time in ns between two reports of figures, by which the orchestrator knows that this process does not hang.
    private static let interval: Int64 = 2_000_000_000

    private final class Control {
        var channel: SocketChannel?
        var lines = LineBuffer(limit: IngestCommand.longestLine)
    }

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without an orchestrator after which the process ends.
    public init(socket: String, orphanTimeout: Double, logger: Logger) {
        self.socket = socket
        self.orphanTimeout = Int64(min(max(orphanTimeout, 1), 1e6) * 1e9)
        self.logger = logger
    }

    /// Runs until told to end.
    ///
    /// - Throws: The reason why the Unix socket cannot be listened on, in words.
    public func run() async throws {
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        let listener = try UnixListener(path: socket) { [weak self] in self?.accept($0) }
        await withCheckedContinuation { continuation in
            loop.perform { [self] in
                ending = continuation
                self.listener = listener
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
        listener?.close()
        server?.close()
        server = nil
        control?.channel?.close()
        for other in others.values { other.channel?.close() }
        orphan.end()
        ticker.end()
        ending.resume()
    }

    // MARK: - The orchestrator

    private func accept(_ descriptor: Int32) {
        guard others.count < Self.mostOthers else {
            Foundation.close(descriptor)
            return
        }
        let new = Control()
        let id = ObjectIdentifier(new)
        others[id] = new
        new.channel = SocketChannel(
            descriptor: descriptor, onBytes: { [weak self] in self?.read($0, from: id) },
            onClosed: { [weak self] in self?.closed(id) })
    }

    private func read(_ bytes: [UInt8], from id: ObjectIdentifier) {
        let sender = others[id] ?? (control.map { ObjectIdentifier($0) } == id ? control : nil)
        guard let sender else { return }
        guard let lines = sender.lines.push(bytes) else { return closed(id) }
        for line in lines {
            guard let command = try? JSONDecoder().decode(IngestCommand.self, from: Data(line)) else {
                logger.error("a line of the service is not a command")
                continue
            }
            handle(command, from: sender, id)
        }
    }

    private func handle(_ command: IngestCommand, from sender: Control, _ id: ObjectIdentifier) {
        if case .hello(let version) = command {
            guard version == IngestCommand.version else {
                let reason = "the ingest speaks version \(IngestCommand.version), not \(version)"
                return send(.refused(reason: reason), to: sender)
            }
            others[id] = nil
            // The newest service counts: an older one has gone, or has lost its lock.
            if let control, control !== sender { control.channel?.close() }
            control = sender
            orphan.set(.max)
            ticker.set(MonotonicClock.now() + Self.interval)
        } else if control !== sender {
            return
        }
        if command == .terminate { return end() }
        server?.handle(command)
    }

    private func closed(_ id: ObjectIdentifier) {
        others.removeValue(forKey: id)?.channel?.close()
        guard let control, ObjectIdentifier(control) == id else { return }
        control.channel?.close()
        self.control = nil
        server?.abandoned()
        orphan.set(MonotonicClock.now() + orphanTimeout)
    }

    private func tick() {
        guard control != nil, let server else { return }
        send(.figures(server.figures))
        ticker.set(MonotonicClock.now() + Self.interval)
    }

    private func send(_ report: IngestReport) {
        if let control { send(report, to: control) }
    }

    private func send(_ report: IngestReport, to receiver: Control) {
        guard let channel = receiver.channel, let line = try? DocumentEncoder.json(report) else { return }
        // It is told everything anew when it connects again.
        guard channel.pendingBytes < Self.longestBacklog else { return closed(ObjectIdentifier(receiver)) }
        channel.send(Array(line.utf8) + [0x0A])
    }
}
