import EncodedMedia
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
    private let path: String
    private let orphanTimeout: Int64
    private let logger: Logger
    private let orphan = LoopDeadline()
    private var socket: ControlSocket?
    private var playback: WhepPlayback?
    private var ending: CheckedContinuation<Void, any Error>?
    private var isOver = false

    /// - Parameters:
    ///   - socket: Path of the Unix socket.
    ///   - orphanTimeout: Seconds without a service after which the process ends.
    public init(socket: String, orphanTimeout: Double, logger: Logger) {
        path = socket
        self.orphanTimeout = Int64(min(max(orphanTimeout, 1), 1e6) * 1e9)
        self.logger = logger
    }

    /// The elements that the process needs, with their Debian packages.
    public static var elements: [(name: String, package: String)] { WebRTCSending.elements + OpusTranscoder.elements }

    /// Runs until its stream has gone, or until told to end.
    ///
    /// - Throws: The reason why the Unix socket cannot be listened on, in words.
    public func run() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // On the loop, so that no line comes before everything is there.
            loop.perform { [self] in
                do throws(UnixListener.Failure) {
                    socket = try ControlSocket(
                        path: path, longestLine: PlayCommand.longestLine,
                        onLine: { [weak self] in self?.read($0, from: $1) },
                        onLost: { [weak self] in self?.waitForService() })
                } catch { return continuation.resume(throwing: error) }
                ending = continuation
                playback = WhepPlayback(
                    logger: logger, report: { [weak self] in self?.send($0) }, onEnd: { [weak self] in self?.end() })
                orphan.begin { [weak self] in
                    self?.logger.notice("no service has connected for a long time")
                    self?.terminate()
                }
                waitForService()
                if isOver { end() }
            }
        }
        await playback?.close()
        await withCheckedContinuation { continuation in
            loop.perform { [self] in
                socket?.close()
                continuation.resume()
            }
        }
    }

    /// Ends all viewers, and then `run()`. Safe to call from any thread.
    public func terminate() {
        loop.perform { [self] in
            playback?.end(nil)
            end()
        }
    }

    private func end() {
        isOver = true
        orphan.end()
        ending?.resume()
        ending = nil
    }

    private func waitForService() { orphan.set(MonotonicClock.now() + orphanTimeout) }

    // MARK: - The service

    private func read(_ line: Data, from sender: ControlSocket.Sender) {
        guard let command = try? JSONDecoder().decode(PlayCommand.self, from: line) else {
            return logger.error("a line of the service is not a command")
        }
        guard let playback else { return }
        if case .hello(let version) = command {
            guard version == PlayCommand.version else {
                let reason = "the worker speaks version \(PlayCommand.version), not \(version)"
                return send(.failed(reason: reason), to: sender)
            }
            socket?.obey(sender)
            orphan.set(.max)
            send(playback.greeting)
            for viewer in playback.connected { send(.connected(viewer: viewer)) }
            return
        }
        guard socket?.service == sender, !isOver else { return }
        switch command {
        case .hello: break
        case .play(let source): playback.play(source)
        case .view(let viewer, let offer): playback.view(viewer, offer: offer)
        case .candidates(let viewer, let fragment): playback.addCandidates(fragment, of: viewer)
        case .close(let viewer): playback.close(viewer)
        case .terminate: terminate()
        }
    }

    private func send(_ report: PlayReport, to receiver: ControlSocket.Sender? = nil) {
        guard let line = try? DocumentEncoder.json(report) else { return }
        socket?.send(line, to: receiver)
    }
}
