import ChildProcesses
import Foundation
import Logging
import MixModel
import ServiceLifecycle
import Synchronization

/// The only process on this machine that decodes for previews. It is started by the first request, ended after a minute
/// without requests, killed when it does not answer, and started again by the next request.
///
/// One request runs at a time; a limited number may wait.
package final class ThumbnailProcess: PreviewMaking, Service {
    private struct Running {
        var process: LaunchedProcess
        /// This side of the process's socket.
        var descriptor: Int32
        var lastUsed: ContinuousClock.Instant
    }

    private enum Failure: Error {
        case notStarted(String)
        /// The process has ended, or its answer cannot be read.
        case broken
        case late
    }

    private let launch: WorkerLaunch
    private let log: String
    private let logger: Logger
    private let limit: Duration
    private let running = Mutex<Running?>(nil)
    private let turn = Turnstile(limit: 1)
    private let waiting = Atomic(0)

    /// Maximum number of requests that wait for their turn.
    private static let mostWaiting = 64
    private static let rest = Duration.seconds(60)

    /// Path of the process's log file, beside those of relays. No task's log has this name (`RelaySockets`).
    ///
    /// - Parameter data: The data directory.
    package static func log(data: String) -> String { data + "/relays/_thumbnail.log" }

    /// - Parameters:
    ///   - worker: Path of `mixworker`.
    ///   - log: Path of the process's log file.
    ///   - limit: Timeout for one answer.
    package init(
        worker: String, limits: WorkerLimits, log: String, logger: Logger, limit: Duration = .seconds(5)
    ) {
        launch = WorkerLaunch(worker: worker, limits: limits)
        self.log = log
        self.logger = logger
        self.limit = limit
    }

    package func answer(_ request: PreviewRequest) async throws(OrchestratorError) -> PreviewAnswer {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else {
            waiting.subtract(1, ordering: .relaxed)
            throw .noPreviewNow("too many previews are being made: retry in a second")
        }
        defer { waiting.subtract(1, ordering: .relaxed) }
        do {
            try await turn.enter()
        } catch {
            throw .noPreviewNow("the request was cancelled")
        }
        defer { turn.leave() }
        do throws(Failure) {
            return try await offPool { () throws(Failure) in try self.exchange(request) }
        } catch {
            switch error {
            case .notStarted(let reason): throw .noPreviewNow(reason)
            case .broken: throw .noPreviewNow("the process that decodes has ended: retry in a second")
            case .late: throw .noPreviewNow("decoding took more than \(limit): retry in a second")
            }
        }
    }

    /// Ends the process when it is not used, and when the service ends.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: .seconds(10))) != nil {
                guard let used = self.running.withLock({ $0?.lastUsed }), ContinuousClock.now - used > Self.rest,
                    (try? await self.turn.enter()) != nil
                else { continue }
                self.end(by: SIGTERM)
                self.turn.leave()
            }
        }
        end(by: SIGKILL)
    }

    /// Identifier of the running process; `nil` while none is needed.
    package var processID: Int32? { running.withLock { $0?.process.processID } }

    // MARK: On a thread that may block, one at a time

    private func exchange(_ request: PreviewRequest) throws(Failure) -> PreviewAnswer {
        let deadline = ContinuousClock.now + limit
        let descriptor = try ready()
        do throws(Failure) {
            try write(request.wireBytes, to: descriptor, until: deadline)
            let head = try read(4, from: descriptor, until: deadline)
            guard let length = PreviewWire.length(head), length <= PreviewAnswer.longest,
                let answer = PreviewAnswer(body: try read(length, from: descriptor, until: deadline))
            else { throw .broken }
            running.withLock { $0?.lastUsed = .now }
            return answer
        } catch {
            if case .late = error {
                logger.error("the thumbnail process hangs and is killed", metadata: ["log": "\(log)"])
            } else {
                logger.warning("the thumbnail process has ended", metadata: ["log": "\(log)"])
            }
            end(by: SIGKILL)
            throw error
        }
    }

    /// Returns the socket of the process, starting it if there is none.
    private func ready() throws(Failure) -> Int32 {
        if let known = running.withLock({ $0 }) {
            if known.process.isRunning { return known.descriptor }
            end(by: SIGKILL)
        }
        var ends: [Int32] = [-1, -1]
        let stream = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, stream, 0, &ends) == 0 else {
            throw .notStarted("there is no socket for the process that decodes: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[1]) }
        do throws(RelayError) {
            let process = try launch.start(
                [WorkerKind.thumbnail.rawValue], input: .descriptor(ends[1]), log: log, leadsGroup: true)
            running.withLock { $0 = Running(process: process, descriptor: ends[0], lastUsed: .now) }
        } catch {
            close(ends[0])
            throw .notStarted(error.description)
        }
        return ends[0]
    }

    private func end(by signal: Int32) {
        guard let ended = running.withLock({ $0.take() }) else { return }
        close(ended.descriptor)
        ended.process.signal(signal)
        ended.process.onExit { _ in }
    }

    private func write(
        _ bytes: [UInt8], to descriptor: Int32, until deadline: ContinuousClock.Instant
    ) throws(Failure) {
        var position = 0
        while position < bytes.count {
            try wait(Int16(POLLOUT), descriptor, until: deadline)
            let count = bytes.withUnsafeBytes {
                send(
                    descriptor, $0.baseAddress?.advanced(by: position), $0.count - position,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                position += count
            } else if count == 0 || errno != EINTR && errno != EAGAIN {
                throw .broken
            }
        }
    }

    private func read(
        _ count: Int, from descriptor: Int32, until deadline: ContinuousClock.Instant
    ) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var position = 0
        while position < count {
            try wait(Int16(POLLIN), descriptor, until: deadline)
            let got = bytes.withUnsafeMutableBytes {
                recv(
                    descriptor, $0.baseAddress?.advanced(by: position), count - position,
                    Int32(MSG_DONTWAIT))
            }
            if got > 0 { position += got } else if got == 0 || errno != EINTR && errno != EAGAIN { throw .broken }
        }
        return bytes
    }

    private func wait(
        _ events: Int16, _ descriptor: Int32, until deadline: ContinuousClock.Instant
    ) throws(Failure) {
        let left = deadline - .now
        guard left > .zero else { throw .late }
        var entry = pollfd(fd: descriptor, events: events, revents: 0)
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
        if poll(&entry, 1, Int32(clamping: milliseconds)) == 0 { throw .late }
    }
}
