import Foundation
import Logging
import MixModel
import RTMP

/// The process of one WebRTC publisher: a `WhipPublication` and the Unix socket by which the service rules it.
///
/// It goes on without the service, and ends when none has been there for a time, with its publisher, or when it is told to.
///
/// `@unchecked Sendable`: all state belongs to the socket loop.
public final class WhipProcess: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private let logger: Logger
    private let socket: WorkerSocket<WebRTCCommand, WebRTCReport>
    private var publication: WhipPublication?

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without a service after which the process ends.
    public init(socket path: String, orphanTimeout: Double, logger: Logger) {
        self.logger = logger
        socket = WorkerSocket(
            path: path, longestLine: WebRTCCommand.longestLine, orphanTimeout: orphanTimeout, logger: logger)
    }

    /// The elements that the process needs, with their Debian packages.
    public static var elements: [(name: String, package: String)] { WebRTCReception.elements }

    /// Runs until its publisher has gone, or until told to end.
    ///
    /// - Throws: The reason why the Unix socket cannot be listened on, in words.
    public func run() async throws {
        try await socket.run(
            begin: { [self] in
                publication = WhipPublication(
                    logger: logger, report: { [weak self] in self?.socket.send($0) },
                    onEnd: { [weak self] in self?.socket.end() })
            }, role: { [self] in role(of: $0) }, perform: { [self] in perform($0) },
            onOrphaned: { [self] in end() }, close: { [self] in await publication?.close() })
    }

    /// Ends the publication, and then `run()`. Safe to call from any thread.
    public func terminate() { loop.perform { [self] in end() } }

    private func end() {
        publication?.end("the service ended it")
        socket.end()
    }

    private func role(of command: WebRTCCommand) -> WorkerSocket<WebRTCCommand, WebRTCReport>.Role {
        guard case .hello(let version) = command else { return .command(command) }
        guard version == WebRTCCommand.version else {
            return .refused(.refused(reason: "the worker speaks version \(WebRTCCommand.version), not \(version)"))
        }
        let hello = WebRTCReport.hello(version: WebRTCCommand.version, process: getpid())
        return .hello(answers: publication?.isLive ?? false ? [hello, .connected] : [hello])
    }

    private func perform(_ command: WebRTCCommand) {
        switch command {
        case .hello: break
        case .publish(let publisher): publication?.publish(publisher)
        case .candidates(let fragment): publication?.addCandidates(fragment)
        case .restart:
            // `webrtcbin` 1.22 does not restart ICE. A client that loses its connection publishes again.
            socket.send(.refused(reason: "ICE restarts are not supported: publish again."))
        case .terminate: end()
        }
    }
}
