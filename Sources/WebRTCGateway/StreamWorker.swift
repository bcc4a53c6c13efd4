import Foundation
import Logging
import MixModel
import RTMP

/// The process of one duty (a WebRTC publisher, a stream played over WebRTC, or a page), with the Unix socket through
/// which the service controls it.
///
/// The process continues without the service. It ends when no service has been connected for some time, with its duty,
/// or on command.
///
/// `@unchecked Sendable`: all state belongs to the socket loop.
package final class StreamWorker<Duty: StreamDuty>: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private let logger: Logger
    private let socket: WorkerSocket<Duty.Command, Duty.Report>
    private var duty: Duty?

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without a service after which the process ends.
    package init(socket path: String, orphanTimeout: Double, logger: Logger) {
        self.logger = logger
        socket = WorkerSocket(
            path: path, longestLine: Duty.Command.longestLine, orphanTimeout: orphanTimeout, logger: logger)
    }

    /// Runs until the duty is over, or until asked to end.
    ///
    /// - Throws: A description of why listening on the Unix socket failed.
    package func run() async throws {
        try await socket.run(
            begin: { [self] in
                duty = Duty(
                    logger: logger, report: { [weak self] in self?.socket.send($0) },
                    onEnd: { [weak self] in self?.socket.end() })
            }, role: { [self] in role(of: $0) }, perform: { [self] in perform($0) },
            onOrphaned: { [self] in end() }, close: { [self] in await duty?.close() })
    }

    /// Ends the duty, and then `run()`. Safe to call from any thread.
    package func terminate() { loop.perform { [self] in end() } }

    private func end() {
        duty?.terminate()
        socket.end()
    }

    private func role(of command: Duty.Command) -> WorkerSocket<Duty.Command, Duty.Report>.Role {
        guard let version = command.helloVersion else { return .command(command) }
        guard let duty, version == Duty.Command.version else {
            return .refused(Duty.refusal("the worker speaks version \(Duty.Command.version), not \(version)"))
        }
        return .hello(answers: duty.greeting)
    }

    private func perform(_ command: Duty.Command) {
        if command == .terminate { end() } else { duty?.obey(command) }
    }
}
