import Foundation
import Logging
import MixModel
import RTMP
import WebRTCGateway

/// The process of one page: a `PagePublication` and the Unix socket by which the service rules it.
///
/// It goes on without the service, and ends when none has been there for a time, with its page, or when it is told to.
///
/// `@unchecked Sendable`: all state belongs to the socket loop.
public final class PageProcess: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private let logger: Logger
    private let socket: WorkerSocket<PageCommand, PageReport>
    private var publication: PagePublication?

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without a service after which the process ends.
    public init(socket path: String, orphanTimeout: Double, logger: Logger) {
        self.logger = logger
        socket = WorkerSocket(
            path: path, longestLine: PageCommand.longestLine, orphanTimeout: orphanTimeout, logger: logger)
    }

    /// The elements that the process needs, with their Debian packages.
    public static var elements: [(name: String, package: String)] { PagePipeline.elements }

    /// Runs until its page has ended, or until told to end.
    ///
    /// - Throws: The reason why the Unix socket cannot be listened on, in words.
    public func run() async throws {
        try await socket.run(
            begin: { [self] in
                publication = PagePublication(
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

    private func role(of command: PageCommand) -> WorkerSocket<PageCommand, PageReport>.Role {
        guard case .hello(let version) = command else { return .command(command) }
        guard version == PageCommand.version else {
            return .refused(.refused(reason: "the worker speaks version \(PageCommand.version), not \(version)"))
        }
        let hello = PageReport.hello(version: PageCommand.version, process: getpid())
        guard let publication, publication.hasPage else { return .hello(answers: [hello]) }
        return .hello(answers: [hello, .state(publication.state)])
    }

    private func perform(_ command: PageCommand) {
        switch command {
        case .hello: break
        case .publish(let job): publication?.publish(job)
        case .terminate: end()
        }
    }
}
