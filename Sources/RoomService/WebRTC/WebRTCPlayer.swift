import EncodedMedia
import Foundation
import Logging
import MixModel
import Synchronization
import TextFormats

/// One stream played over WebRTC: performs the actions of `PlayMachine` for one worker and its viewers.
actor WebRTCPlayer {
    enum Event: Sendable {
        /// A worker of an earlier run plays this stream for these viewers.
        case adopted(stream: String, viewers: [PlayViewer])
        case connected(viewer: String)
        case ended(viewer: String, reason: String)
        /// The worker accepts no more viewers.
        case ending
    }

    nonisolated let id: String

    private let surroundings: WebRTCSurroundings
    private let onEvent: @Sendable (Event) -> Void
    private nonisolated let link: WorkerLink<PlayCommand, PlayReport>
    private var machine: PlayMachine
    /// Callers that wait for the answer to an offer, by viewer.
    private var openings: [String: CheckedContinuation<Result<String, OrchestratorError>, Never>] = [:]
    private var counted = PlayFigures()
    private nonisolated let isLeft = Atomic(false)
    private nonisolated let inputs: AsyncStream<PlayMachine.Input>
    private nonisolated let input: AsyncStream<PlayMachine.Input>.Continuation

    /// Maximum number of inputs that wait.
    private static let mostInputs = 1024

    /// - Parameters:
    ///   - id: Identifier of the worker, which names its socket.
    ///   - source: The stream that it plays; `nil` for a worker of an earlier run.
    ///   - onEvent: Called with events of viewers that have had an answer.
    init(
        id: String, source: PlaySource?, in surroundings: WebRTCSurroundings,
        onEvent: @escaping @Sendable (Event) -> Void
    ) {
        self.id = id
        self.surroundings = surroundings
        self.onEvent = onEvent
        machine = source.map { PlayMachine(source: $0) } ?? PlayMachine()
        (inputs, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostInputs))
        link = WorkerLink(
            surroundings.starter, socket: surroundings.files.playSocket(id), log: surroundings.files.log,
            isAdopted: source == nil, longestLine: PlayCommand.longestLine, logger: surroundings.logger)
    }

    /// Runs until the worker ends or is left to the next run.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.link.run { self.input.take($0) } }
            for await input in inputs {
                for action in machine.take(input, now: MonotonicClock.now()) {
                    if case .wake(let pause) = action { wake(after: pause, in: &group) } else { perform(action) }
                }
                if machine.isOver(now: MonotonicClock.now()) { break }
            }
            group.cancelAll()
        }
        // From here on, no further viewer is accepted.
        input.finish()
        link.finish()
        for viewer in openings.keys { settle(viewer, .failure(.stopping)) }
        if !isLeft.load(ordering: .relaxed) { unlink(surroundings.files.playSocket(id)) }
    }

    private nonisolated func wake(after pause: Duration, in group: inout DiscardingTaskGroup) {
        group.addTask {
            // Slightly late rather than early, so that the deadline has passed.
            if (try? await Task.sleep(for: pause + .milliseconds(1))) != nil { self.input.yield(.tick) }
        }
    }

    // MARK: - What others ask for

    /// Returns the answer to a viewer's offer, within little more than 5 s.
    func view(_ viewer: PlayViewer, offer: String) async -> Result<String, OrchestratorError> {
        await withCheckedContinuation { continuation in
            openings[viewer.id] = continuation
            guard case .enqueued = input.yield(.view(viewer, offer: offer)) else {
                return settle(viewer.id, .failure(Self.unavailable("too many messages are waiting for the worker")))
            }
        }
    }

    nonisolated func candidates(of viewer: String, _ fragment: String) {
        input.yield(.candidates(viewer: viewer, fragment: fragment))
    }

    nonisolated func close(_ viewer: String) { input.yield(.close(viewer: viewer)) }

    nonisolated func terminate(reason: String) { input.yield(.terminate(reason: reason)) }

    /// Lets the worker continue without the service, for the next run.
    nonisolated func leave() {
        isLeft.store(true, ordering: .relaxed)
        link.leave()
        input.finish()
    }

    // MARK: - Actions

    private func perform(_ action: PlayMachine.Action) {
        switch action {
        case .send(let command): link.send(command)
        case .adopted(let stream, let viewers): onEvent(.adopted(stream: stream, viewers: viewers))
        case .answer(let viewer, let answer): settle(viewer, .success(answer))
        case .refuse(let viewer, let reason):
            surroundings.logger.warning("a WebRTC viewer gets no answer: \(URLRedaction.redact(reason))")
            settle(viewer, .failure(Self.unavailable(reason)))
        case .connected(let viewer): onEvent(.connected(viewer: viewer))
        case .ended(let viewer, let reason): onEvent(.ended(viewer: viewer, reason: URLRedaction.redact(reason)))
        case .figures(let figures): count(figures)
        case .end(let reason):
            onEvent(.ending)
            surroundings.logger.info("a WebRTC player has ended: \(URLRedaction.redact(reason))")
        case .wake: break
        }
    }

    private func settle(_ viewer: String, _ result: Result<String, OrchestratorError>) {
        openings.removeValue(forKey: viewer)?.resume(returning: result)
    }

    /// Counts a worker's figures. They may only grow; others are ignored.
    private func count(_ figures: PlayFigures) {
        let metrics = surroundings.metrics
        metrics.count(.webrtcSent, by: Int64(max(0, figures.packets.saturatingDifference(counted.packets))))
        metrics.count(.webrtcSentLost, by: Int64(max(0, figures.lost.saturatingDifference(counted.lost))))
        counted = figures
    }

    private static func unavailable(_ reason: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "webrtc-unavailable", "The stream cannot be played over WebRTC at the moment",
            detail: URLRedaction.redact(reason), retryAfter: 2)
    }
}

extension PlayMachine.Input: WorkerInput {
    typealias Report = PlayReport
}
