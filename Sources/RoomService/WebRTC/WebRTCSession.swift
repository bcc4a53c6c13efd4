import ChildProcesses
import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import NIOCore
import Synchronization
import TextFormats

/// One publisher over WebRTC: performs what `WebRTCSessionMachine` decides.
actor WebRTCSession {
    struct Surroundings: Sendable {
        let files: WebRTCFiles
        let starter: SocketWorkerStarter
        let metrics: Metrics
        let logger: Logger
    }

    nonisolated let id: String
    nonisolated let names: StreamNames
    nonisolated let address: String
    nonisolated let needsToken: Bool

    private let surroundings: Surroundings
    private let isAdopted: Bool
    private let onNews: @Sendable (WebRTCNews) -> Void
    private var machine: WebRTCSessionMachine
    private var record: WebRTCRecord
    private var line: AsyncStream<ByteBuffer>.Continuation?
    /// What the client's offer came to, and who waits for it.
    private var opened: Result<String, OrchestratorError>?
    private var opening: CheckedContinuation<Result<String, OrchestratorError>, Never>?
    private var restarting: CheckedContinuation<Result<String, OrchestratorError>, Never>?
    private var restartName: String?
    private var counted = WebRTCFigures()
    /// Whether the service is being shut down and leaves the worker running.
    private nonisolated let isLeft = Atomic(false)
    private let inputs: AsyncStream<WebRTCSessionMachine.Input>
    private let input: AsyncStream<WebRTCSessionMachine.Input>.Continuation

    /// Time within which a worker has to listen after its start, and after a connection to it was lost.
    private static let connectLimits: (first: Duration, again: Duration) = (.seconds(5), .seconds(1))
    /// Inputs that may wait.
    private static let mostInputs = 256

    /// - Parameters:
    ///   - publisher: What the worker gets; `nil` for a session of an earlier run.
    ///   - onNews: Called with what happens, at last once with the end.
    init(
        id: String, names: StreamNames, record: WebRTCRecord, publisher: WebRTCPublisher?,
        in surroundings: Surroundings, onNews: @escaping @Sendable (WebRTCNews) -> Void
    ) {
        self.id = id
        self.names = names
        self.address = record.address
        self.needsToken = record.needsToken
        self.surroundings = surroundings
        self.record = record
        self.onNews = onNews
        isAdopted = publisher == nil
        machine = publisher.map { WebRTCSessionMachine(publisher: $0, now: MonotonicClock.now()) } ?? .init()
        if publisher == nil { opened = .success("") }
        (inputs, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostInputs))
    }

    var tag: WebRTCTag { WebRTCTag(generation: record.generation) }
    var isConnected: Bool { machine.isConnected }

    /// Runs the session to its end, or until it is left.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepConnected() }
            if !isAdopted { wake(after: WebRTCSessionMachine.answerLimit, in: &group) }
            for await input in inputs {
                for action in machine.take(input, now: MonotonicClock.now()) {
                    if case .wake(let pause) = action { wake(after: pause, in: &group) } else { perform(action) }
                }
                if machine.isOver(now: MonotonicClock.now()) { break }
            }
            group.cancelAll()
        }
        line?.finish()
        let stopping = Result<String, OrchestratorError>.failure(.stopping)
        settleOpening(stopping)
        settleRestart(stopping)
        if !isLeft.load(ordering: .relaxed) { surroundings.files.remove(id) }
    }

    private nonisolated func wake(after pause: Duration, in group: inout DiscardingTaskGroup) {
        group.addTask {
            // Late by a moment rather than early, so that the time has come.
            if (try? await Task.sleep(for: pause + .milliseconds(1))) != nil { self.input.yield(.tick) }
        }
    }

    // MARK: - What others ask for

    /// Returns the answer to the offer.
    func answer() async -> Result<String, OrchestratorError> {
        if let opened { return opened }
        return await withCheckedContinuation { opening = $0 }
    }

    /// Takes candidates, or a new name and password.
    func change(
        _ text: String, _ fragment: ICENames, _ condition: WebRTCCondition
    ) async throws(OrchestratorError) -> WebRTCChange {
        let isOther = fragment.name.map { !$0.hasSameUTF8(as: record.iceName) } ?? false
        switch condition {
        case .tags(let tags) where !tags.contains(tag.text):
            throw OrchestratorError(
                .outdated, "ice-outdated", "The session has another ICE by now", detail: "it is \(tag.text)",
                field: "If-Match", expected: "the ETag of the newest answer, or * to restart ICE")
        case .none where isOther, .tags where isOther:
            throw OrchestratorError(
                .conflict, "ice-other", "The fragment belongs to another ICE than the session's",
                detail: "its ice-ufrag is not that of the offer", field: "If-Match", expected: "* to restart ICE")
        case .none, .any, .tags: break
        }
        guard isOther else {
            input.yield(.candidates(fragment: text))
            return .added
        }
        guard restarting == nil else {
            throw OrchestratorError(
                .unavailable, "ice-restarting", "ICE is being restarted", detail: "retry in a second", retryAfter: 1)
        }
        restartName = fragment.name
        let result = await withCheckedContinuation { continuation in
            restarting = continuation
            if case .terminated = input.yield(.restart(fragment: text)) { settleRestart(.failure(.stopping)) }
        }
        return .restarted(fragment: try result.get(), tag: tag)
    }

    /// Ends the session.
    nonisolated func close(reason: String) { input.yield(.close(reason: reason)) }

    /// Lets the worker go on without the service, for the next run.
    nonisolated func leave() {
        isLeft.store(true, ordering: .relaxed)
        input.finish()
    }

    // MARK: - Actions

    private func perform(_ action: WebRTCSessionMachine.Action) {
        switch action {
        case .send(let command): send(command)
        case .answer(let answer): settleOpening(.success(answer))
        case .refuse(let reason):
            settleOpening(
                .failure(
                    OrchestratorError(
                        .unavailable, "webrtc-unavailable", "The publisher cannot be taken at the moment",
                        detail: URLRedaction.redact(reason), retryAfter: 2)))
        case .restarted(let fragment):
            record.generation += 1
            record.iceName = restartName ?? record.iceName
            try? surroundings.files.write(record, of: id)
            settleRestart(.success(fragment))
        case .restartRefused(let reason):
            settleRestart(
                .failure(
                    OrchestratorError(
                        .invalid, "ice-restart-unsupported", "ICE cannot be restarted",
                        detail: URLRedaction.redact(reason), expected: "a new session, which takes the stream over")))
        case .notRestarted(let reason):
            settleRestart(
                .failure(
                    OrchestratorError(
                        .unavailable, "webrtc-unavailable", "ICE cannot be restarted",
                        detail: URLRedaction.redact(reason), retryAfter: 2)))
        case .connected:
            surroundings.logger.info("a WebRTC publisher is connected", metadata: metadata)
            onNews(.connected)
        case .figures(let figures): count(figures)
        case .end(let reason):
            surroundings.logger.info(
                "a WebRTC publisher has ended: \(URLRedaction.redact(reason))", metadata: metadata)
            onNews(.ended(reason: reason))
        case .wake: break
        }
    }

    private var metadata: Logger.Metadata {
        ["room": "\(names.room)", "user": "\(names.user)", "stream": "\(names.stream.rawValue)"]
    }

    private func settleOpening(_ result: Result<String, OrchestratorError>) {
        guard opened == nil else { return }
        opened = result
        opening?.resume(returning: result)
        opening = nil
    }

    private func settleRestart(_ result: Result<String, OrchestratorError>) {
        restarting?.resume(returning: result)
        restarting = nil
    }

    /// Numbers of a worker only grow; others are not believed.
    private func count(_ figures: WebRTCFigures) {
        let metrics = surroundings.metrics
        metrics.count(.webrtcPackets, by: Int64(max(0, figures.packets.saturatingDifference(counted.packets))))
        metrics.count(.webrtcLost, by: Int64(max(0, figures.lost.saturatingDifference(counted.lost))))
        counted = figures
    }

    private func send(_ command: WebRTCCommand) {
        guard let line, var text = try? DocumentEncoder.json(command) else { return }
        text += "\n"
        line.yield(ByteBuffer(string: text))
    }

    // MARK: - The process

    private func attached(_ line: AsyncStream<ByteBuffer>.Continuation) { self.line = line }

    private nonisolated func keepConnected() async {
        var process: LaunchedProcess?
        if !isAdopted {
            do throws(RelayError) {
                process = try surroundings.starter.start(
                    socket: surroundings.files.socket(id), log: surroundings.files.log)
            } catch {
                input.yield(.lost(reason: error.description))
                return
            }
        }
        await talk(to: process)
        guard let process else { return }
        // Whatever has happened, nobody else knows of the process: it is waited for, and killed if it does not end.
        if Task.isCancelled, isLeft.load(ordering: .relaxed) { return }
        if process.isRunning { process.signal(SIGKILL) }
        process.onExit { _ in }
    }

    private nonisolated func talk(to process: LaunchedProcess?) async {
        var limit = isAdopted ? Self.connectLimits.again : Self.connectLimits.first
        while !Task.isCancelled {
            guard let connection = await connect(process, within: limit) else {
                if !Task.isCancelled { input.yield(.lost(reason: Self.description(process))) }
                return
            }
            limit = Self.connectLimits.again
            let (lines, line) = AsyncStream.makeStream(of: ByteBuffer.self)
            let peer = await connection.peerProcess
            let isHeard = Atomic(false)
            await attached(line)
            input.yield(.attached)
            do {
                try await connection.exchange(lines, longestLine: WebRTCCommand.longestLine) { [input] bytes in
                    isHeard.store(true, ordering: .relaxed)
                    let report = try JSONDecoder().decode(WebRTCReport.self, from: Data(bytes))
                    if case .dropped = input.yield(.report(report)) {
                        throw RelayError.protocolViolation("more than \(Self.mostInputs) reports wait")
                    }
                }
            } catch {
                // One that says nothing before its client has come is asked again; then it has to say hello.
                if case RelayError.silent = error, !isHeard.load(ordering: .relaxed), peer > 1, peer != getpid() {
                    surroundings.logger.error("a WebRTC worker hangs and is being killed", metadata: ["pid": "\(peer)"])
                    kill(peer, SIGKILL)
                } else if !Task.isCancelled {
                    surroundings.logger.debug("connection to a WebRTC worker: \(error)")
                }
            }
            line.finish()
            input.yield(.detached)
        }
    }

    private nonisolated func connect(_ process: LaunchedProcess?, within limit: Duration) async -> RelayConnection? {
        let end = ContinuousClock.now + limit
        while !Task.isCancelled, ContinuousClock.now < end {
            if let connection = try? await RelayConnection.open(path: surroundings.files.socket(id)) {
                return connection
            }
            if let process, !process.isRunning { return nil }
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return nil }
        }
        return nil
    }

    private nonisolated static func description(_ process: LaunchedProcess?) -> String {
        switch process?.exit {
        case nil: "the worker does not answer"
        case .status(let status)?: "the worker exited with status \(status)"
        case .signal(let number)?: "the worker was killed by signal \(number)"
        case .unknown?: "the worker ended"
        }
    }
}

/// What a fragment says of the client's ICE.
package struct ICENames: Hashable, Sendable {
    /// Its `ice-ufrag`; `nil` if it has none.
    package var name: String?

    package init(name: String?) { self.name = name }
}
