import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import Synchronization
import TextFormats

/// One publisher over WebRTC: performs the actions of `WebRTCSessionMachine`.
actor WebRTCSession {
    nonisolated let id: String
    nonisolated let names: StreamNames
    nonisolated let address: String
    nonisolated let needsToken: Bool

    private let surroundings: WebRTCSurroundings
    private let isAdopted: Bool
    private let onNews: @Sendable (WebRTCNews) -> Void
    private var machine: WebRTCSessionMachine
    private var record: WebRTCRecord
    private nonisolated let link: WorkerLink<WebRTCCommand, WebRTCReport>
    /// The result of the client's offer, and the caller that waits for it.
    private var opened: Result<String, OrchestratorError>?
    private var opening: CheckedContinuation<Result<String, OrchestratorError>, Never>?
    private var restarting: CheckedContinuation<Result<String, OrchestratorError>, Never>?
    private var restartName: String?
    private var counted = WebRTCFigures()
    /// Whether the service is shutting down and leaves the worker running.
    private nonisolated let isLeft = Atomic(false)
    private let inputs: AsyncStream<WebRTCSessionMachine.Input>
    private let input: AsyncStream<WebRTCSessionMachine.Input>.Continuation

    /// Maximum number of inputs that wait.
    private static let mostInputs = 256

    /// - Parameters:
    ///   - publisher: The publisher, as sent to the worker; `nil` for a session of an earlier run.
    ///   - onNews: Called with the session's news. The last call, made once, reports its end.
    init(
        id: String, names: StreamNames, record: WebRTCRecord, publisher: WebRTCPublisher?,
        in surroundings: WebRTCSurroundings, onNews: @escaping @Sendable (WebRTCNews) -> Void
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
        link = WorkerLink(
            surroundings.starter, socket: surroundings.files.socket(id), log: surroundings.files.log,
            isAdopted: publisher == nil, longestLine: WebRTCCommand.longestLine, logger: surroundings.logger)
    }

    var tag: WebRTCTag { WebRTCTag(generation: record.generation) }
    var isConnected: Bool { machine.isConnected }

    /// Runs the session until it ends or is left to the next run.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.link.run { self.input.take($0) } }
            if !isAdopted { wake(after: WebRTCSessionMachine.answerLimit, in: &group) }
            for await input in inputs {
                for action in machine.take(input, now: MonotonicClock.now()) {
                    if case .wake(let pause) = action { wake(after: pause, in: &group) } else { perform(action) }
                }
                if machine.isOver(now: MonotonicClock.now()) { break }
            }
            group.cancelAll()
        }
        // From here on, no restart is accepted.
        input.finish()
        link.finish()
        let stopping = Result<String, OrchestratorError>.failure(.stopping)
        settleOpening(stopping)
        settleRestart(stopping)
        if !isLeft.load(ordering: .relaxed) { surroundings.files.remove(id) }
    }

    private nonisolated func wake(after pause: Duration, in group: inout DiscardingTaskGroup) {
        group.addTask {
            // Slightly late rather than early, so that the deadline has passed.
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
            throw .outdatedICE(tag)
        case .none where isOther, .tags where isOther:
            throw .otherICE
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
            guard case .enqueued = input.yield(.restart(fragment: text)) else {
                return settleRestart(.failure(.stopping))
            }
        }
        return .restarted(fragment: try result.get(), tag: tag)
    }

    /// Ends the session.
    nonisolated func close(reason: String) { input.yield(.close(reason: reason)) }

    /// Lets the worker continue without the service, for the next run.
    nonisolated func leave() {
        isLeft.store(true, ordering: .relaxed)
        link.leave()
        input.finish()
    }

    // MARK: - Actions

    private func perform(_ action: WebRTCSessionMachine.Action) {
        switch action {
        case .send(let command): link.send(command)
        case .answer(let answer): settleOpening(.success(answer))
        case .refuse(let reason):
            surroundings.logger.warning(
                "a WebRTC publisher gets no answer: \(URLRedaction.redact(reason))", metadata: metadata)
            settleOpening(
                .failure(
                    OrchestratorError(
                        .unavailable, "webrtc-unavailable", "The publisher cannot be accepted at the moment",
                        detail: URLRedaction.redact(reason), retryAfter: 2)))
        case .restarted(let fragment):
            record.generation += 1
            record.iceName = restartName ?? record.iceName
            try? surroundings.files.write(record, of: id)
            settleRestart(.success(fragment))
        case .restartRefused(let reason):
            settleRestart(.failure(.cannotRestartICE(URLRedaction.redact(reason))))
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
        case .end(let reason, let cause):
            surroundings.logger.info(
                "a WebRTC publisher has ended: \(URLRedaction.redact(reason))", metadata: metadata)
            onNews(.ended(reason: reason, cause: cause))
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

    /// Counts a worker's figures. They may only grow; others are ignored.
    private func count(_ figures: WebRTCFigures) {
        let metrics = surroundings.metrics
        metrics.count(.webrtcPackets, by: Int64(max(0, figures.packets.saturatingDifference(counted.packets))))
        metrics.count(.webrtcLost, by: Int64(max(0, figures.lost.saturatingDifference(counted.lost))))
        counted = figures
    }
}

extension WebRTCSessionMachine.Input: WorkerInput {
    typealias Report = WebRTCReport
}

/// The client's ICE credentials in a fragment.
package struct ICENames: Hashable, Sendable {
    /// Its `ice-ufrag`; `nil` if it has none.
    package var name: String?

    package init(name: String?) { self.name = name }
}
