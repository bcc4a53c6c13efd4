import EncodedMedia
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
    private let path: String
    private let orphanTimeout: Int64
    private let logger: Logger
    private let orphan = LoopDeadline()
    private var socket: ControlSocket?
    private var publication: WhipPublication?
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
    public static var elements: [(name: String, package: String)] { WebRTCReception.elements }

    /// Runs until its publisher has gone, or until told to end.
    ///
    /// - Throws: The reason why the Unix socket cannot be listened on, in words.
    public func run() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // On the loop, so that no line comes before everything is there.
            loop.perform { [self] in
                do throws(UnixListener.Failure) {
                    socket = try ControlSocket(
                        path: path, longestLine: WebRTCCommand.longestLine,
                        onLine: { [weak self] in self?.read($0, from: $1) },
                        onLost: { [weak self] in self?.waitForService() })
                } catch { return continuation.resume(throwing: error) }
                ending = continuation
                publication = WhipPublication(
                    logger: logger, report: { [weak self] in self?.send($0) }, onEnd: { [weak self] in self?.end() })
                orphan.begin { [weak self] in
                    self?.logger.notice("no service has connected for a long time")
                    self?.terminate()
                }
                waitForService()
                if isOver { end() }
            }
        }
        await publication?.close()
        await withCheckedContinuation { continuation in
            loop.perform { [self] in
                socket?.close()
                continuation.resume()
            }
        }
    }

    /// Ends the publication, and then `run()`. Safe to call from any thread.
    public func terminate() { loop.perform { [self] in end(saying: "the service ended it") } }

    private func end(saying reason: String) {
        // One that has a publisher comes back through `end()`.
        publication?.end(reason)
        end()
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
        guard let command = try? JSONDecoder().decode(WebRTCCommand.self, from: line) else {
            return logger.error("a line of the service is not a command")
        }
        if case .hello(let version) = command {
            guard version == WebRTCCommand.version else {
                let reason = "the worker speaks version \(WebRTCCommand.version), not \(version)"
                return send(.refused(reason: reason), to: sender)
            }
            socket?.obey(sender)
            orphan.set(.max)
            send(.hello(version: WebRTCCommand.version, process: getpid()))
            if publication?.isLive ?? false { send(.connected) }
            return
        }
        guard socket?.service == sender, !isOver else { return }
        switch command {
        case .hello: break
        case .publish(let publisher): publication?.publish(publisher)
        case .candidates(let fragment): publication?.addCandidates(fragment)
        case .restart:
            // `webrtcbin` 1.22 does not restart ICE. A client that loses its connection publishes again.
            send(.refused(reason: "ICE restarts are not supported: publish again."))
        case .terminate: end(saying: "the service ended it")
        }
    }

    private func send(_ report: WebRTCReport, to receiver: ControlSocket.Sender? = nil) {
        guard let line = try? DocumentEncoder.json(report) else { return }
        socket?.send(line, to: receiver)
    }
}
