import EncodedMedia
import Foundation
import Logging
import MixModel
import RTMP

/// The Unix socket through which the service controls a worker, and the worker's lifetime: it continues without the
/// service, and ends when no service has been connected for some time, or when its work is done.
///
/// Both sides send one JSON object per line. `@unchecked Sendable`: all state belongs to the socket loop.
package final class WorkerSocket<Command: Decodable & Sendable, Report: Encodable & Sendable>: @unchecked Sendable {
    /// The role of a command on its connection.
    package enum Role {
        /// The service's first line, with which the connection replaces any earlier one.
        ///
        /// - Parameter answers: Sent on the connection if it is accepted.
        case hello(answers: [Report])
        /// The first line of a service with another version.
        case refused(Report)
        /// Performed if it arrived on the service's connection.
        case command(Command)
    }

    private let loop = SocketLoop.shared
    private let path: String
    private let longestLine: Int
    private let orphanTimeout: Int64
    private let logger: Logger
    private let orphan = LoopDeadline()
    private var socket: ControlSocket?
    private var ending: CheckedContinuation<Void, any Error>?
    private var isOver = false

    /// - Parameters:
    ///   - path: Path of the Unix socket.
    ///   - longestLine: Longest line in bytes.
    ///   - orphanTimeout: Seconds without a service after which the worker ends.
    package init(path: String, longestLine: Int, orphanTimeout: Double, logger: Logger) {
        self.path = path
        self.longestLine = longestLine
        self.orphanTimeout = Int64(min(max(orphanTimeout, 1), 1e6) * 1e9)
        self.logger = logger
    }

    /// Listens until `end()`, and closes the socket after `close`.
    ///
    /// - Parameters:
    ///   - begin: Called on the loop before any line arrives.
    ///   - role: Returns the role of a command; called on the loop.
    ///   - perform: Performs a command on the loop.
    ///   - onOrphaned: Called on the loop when no service has been connected for too long.
    /// - Throws: A description of why listening on the Unix socket failed.
    package func run(
        begin: @escaping @Sendable () -> Void, role: @escaping @Sendable (Command) -> Role,
        perform: @escaping @Sendable (Command) -> Void, onOrphaned: @escaping @Sendable () -> Void,
        close: @Sendable () async -> Void
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // On the loop, so that no line arrives before everything is set up.
            loop.perform { [self] in
                do throws(UnixListener.Failure) {
                    socket = try ControlSocket(
                        path: path, longestLine: longestLine,
                        onLine: { [weak self] in self?.read($0, from: $1, role, perform) },
                        onLost: { [weak self] in self?.waitForService() })
                } catch { return continuation.resume(throwing: error) }
                ending = continuation
                begin()
                orphan.begin { [weak self] in
                    self?.logger.notice("no service has connected for a long time")
                    onOrphaned()
                }
                waitForService()
                if isOver { end() }
            }
        }
        await close()
        await withCheckedContinuation { continuation in
            loop.perform { [self] in
                socket?.close()
                continuation.resume()
            }
        }
    }

    /// Ends `run`. Call on the loop; idempotent.
    package func end() {
        isOver = true
        orphan.end()
        ending?.resume()
        ending = nil
    }

    /// Sends a report to the service, if one is connected. Call on the loop.
    package func send(_ report: Report) { send(report, to: nil) }

    private func waitForService() { orphan.set(MonotonicClock.now() + orphanTimeout) }

    private func read(
        _ line: Data, from sender: ControlSocket.Sender, _ role: (Command) -> Role, _ perform: (Command) -> Void
    ) {
        guard let command = try? JSONDecoder().decode(Command.self, from: line) else {
            return logger.error("a line of the service is not a command")
        }
        switch role(command) {
        case .refused(let report): send(report, to: sender)
        case .hello(let answers):
            socket?.obey(sender)
            orphan.set(.max)
            for answer in answers { send(answer) }
        case .command(let command):
            if socket?.service == sender, !isOver { perform(command) }
        }
    }

    private func send(_ report: Report, to receiver: ControlSocket.Sender?) {
        guard let line = try? DocumentEncoder.json(report) else { return }
        socket?.send(line, to: receiver)
    }
}
