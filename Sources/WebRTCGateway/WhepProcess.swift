import Foundation
import Logging
import MixModel
import RTMP

/// The process that plays one stream to viewers over WebRTC: a `WhepPlayback` and the Unix socket by which the service rules
/// it.
///
/// It goes on without the service, and ends when none has been there for a time, when its stream is gone, or when it is told
/// to.
///
/// `@unchecked Sendable`: all state belongs to the socket loop.
public final class WhepProcess: @unchecked Sendable {
    private let loop = SocketLoop.shared
    private let logger: Logger
    private let socket: WorkerSocket<PlayCommand, PlayReport>
    private var playback: WhepPlayback?

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without a service after which the process ends.
    public init(socket path: String, orphanTimeout: Double, logger: Logger) {
        self.logger = logger
        socket = WorkerSocket(
            path: path, longestLine: PlayCommand.longestLine, orphanTimeout: orphanTimeout, logger: logger)
    }

    /// The elements that the process needs, with their Debian packages.
    public static var elements: [(name: String, package: String)] { WebRTCSending.elements + OpusTranscoder.elements }

    /// Runs until its stream has gone, or until told to end.
    ///
    /// - Throws: The reason why the Unix socket cannot be listened on, in words.
    public func run() async throws {
        try await socket.run(
            begin: { [self] in
                playback = WhepPlayback(
                    logger: logger, report: { [weak self] in self?.socket.send($0) },
                    onEnd: { [weak self] in self?.socket.end() })
            }, role: { [self] in role(of: $0) }, perform: { [self] in perform($0) },
            onOrphaned: { [self] in end() }, close: { [self] in await playback?.close() })
    }

    /// Ends all viewers, and then `run()`. Safe to call from any thread.
    public func terminate() { loop.perform { [self] in end() } }

    private func end() {
        playback?.end(nil)
        socket.end()
    }

    private func role(of command: PlayCommand) -> WorkerSocket<PlayCommand, PlayReport>.Role {
        guard case .hello(let version) = command else { return .command(command) }
        guard let playback, version == PlayCommand.version else {
            return .refused(.failed(reason: "the worker speaks version \(PlayCommand.version), not \(version)"))
        }
        return .hello(answers: [playback.greeting] + playback.connected.map { .connected(viewer: $0) })
    }

    private func perform(_ command: PlayCommand) {
        switch command {
        case .hello: break
        case .play(let source): playback?.play(source)
        case .view(let viewer, let offer): playback?.view(viewer, offer: offer)
        case .candidates(let viewer, let fragment): playback?.addCandidates(fragment, of: viewer)
        case .close(let viewer): playback?.close(viewer)
        case .terminate: end()
        }
    }
}
