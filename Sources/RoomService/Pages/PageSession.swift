import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import Synchronization

/// One page: performs the actions of `PageSessionMachine`, and starts its workers one after another.
actor PageSession {
    /// The purpose of the page.
    enum Subject: Sendable {
        /// A participant's stream.
        case stream(StreamNames)
        /// A picture over programs.
        case overlay(OverlayPage)
    }

    struct Surroundings: Sendable {
        let files: PageFiles
        let starter: SocketWorkerStarter
        let logger: Logger
        /// Called with each new state.
        var onState: (@Sendable (PageState) -> Void)?
    }

    nonisolated let id: String
    nonisolated let subject: Subject
    /// The job as requested. A repeated request with the same job leaves the page unchanged.
    nonisolated let wish: PageJob

    private let surroundings: Surroundings
    private var isAdopted: Bool
    private var machine: PageSessionMachine
    private nonisolated let link = Mutex<WorkerLink<PageCommand, PageReport>?>(nil)
    /// Whether the service is shutting down and leaves the worker running.
    private nonisolated let isLeft = Atomic(false)
    private nonisolated let shown = Mutex(PageState(.starting))
    private let inputs: AsyncStream<PageSessionMachine.Input>
    private let input: AsyncStream<PageSessionMachine.Input>.Continuation
    private var reason: String?

    /// Maximum number of inputs that wait.
    private static let mostInputs = 256
    /// Time within which a worker must end.
    private static let endLimit: Duration = .seconds(5)

    /// - Parameter isAdopted: Whether an earlier run of the service has started the worker.
    init(id: String, subject: Subject, job: PageJob, isAdopted: Bool, in surroundings: Surroundings) {
        self.id = id
        self.subject = subject
        wish = job
        self.surroundings = surroundings
        self.isAdopted = isAdopted
        machine = PageSessionMachine(job)
        (inputs, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostInputs))
    }

    nonisolated var state: PageState { shown.withLock { $0 } }

    /// Runs the page until it ends or is left to the next run.
    ///
    /// - Returns: The reason why the page ended by itself; `nil` if it was closed or left.
    func run() async -> String? {
        await withDiscardingTaskGroup { group in
            startWorker(after: .zero, in: &group)
            for await input in inputs {
                for action in machine.take(input, now: MonotonicClock.now()) {
                    switch action {
                    case .restart(let pause): startWorker(after: pause, in: &group)
                    default: perform(action)
                    }
                }
                // Even if the service crashes now, the page is not opened again.
                if machine.isEnded, !isLeft.load(ordering: .relaxed) { surroundings.files.forget(id) }
                if machine.isOver { break }
                // A worker that does not end is killed with its link.
                if machine.isEnded, input.isLast { limitEnd(in: &group) }
            }
            group.cancelAll()
        }
        link.withLock { $0 }?.finish()
        if !isLeft.load(ordering: .relaxed) { surroundings.files.remove(id) }
        return reason
    }

    private func limitEnd(in group: inout DiscardingTaskGroup) {
        group.addTask {
            if (try? await Task.sleep(for: Self.endLimit)) != nil { self.input.yield(.lost(reason: "")) }
        }
    }

    private func startWorker(after pause: Duration, in group: inout DiscardingTaskGroup) {
        let new = WorkerLink<PageCommand, PageReport>(
            surroundings.starter, socket: surroundings.files.socket(id), log: surroundings.files.log,
            isAdopted: isAdopted, longestLine: PageCommand.longestLine, logger: surroundings.logger)
        isAdopted = false
        group.addTask {
            if pause > .zero, (try? await Task.sleep(for: pause)) == nil { return }
            self.link.withLock { $0 = new }
            await new.run { self.input.take($0) }
            new.finish()
        }
    }

    /// Ends the page.
    nonisolated func close() { input.yield(.close) }

    /// Leaves the page to the next run of the service.
    ///
    /// - Parameter isKept: Whether the worker keeps running until then.
    nonisolated func leave(isKept: Bool) {
        isLeft.store(true, ordering: .relaxed)
        guard isKept else { return close() }
        link.withLock { $0 }?.leave()
        input.finish()
    }

    /// Returns whether the page already runs this job, apart from a token that has been used, and from the share of the machine,
    /// which is no reason to interrupt a page on air.
    nonisolated func isSame(as job: PageJob) -> Bool {
        var job = job
        // The token is for the first time: later requests may come without it, and later runs do not know it.
        if wish.firstAddress == nil || job.firstAddress == nil { job.firstAddress = wish.firstAddress }
        (job.processors, job.niceness) = (wish.processors, wish.niceness)
        return job == wish
    }

    private func perform(_ action: PageSessionMachine.Action) {
        switch action {
        case .send(let command): link.withLock { $0 }?.send(command)
        case .forgetToken:
            guard case .stream(let names) = subject else { break }
            // A worker that is started later opens the page without the token.
            try? surroundings.files.write(
                PageRecord(stream: IngestStreamKey(names).text, job: machine.job), of: id)
        case .state(let state):
            let before = shown.withLock { shown in
                defer { shown = state }
                return shown
            }
            guard state != before else { return }
            surroundings.onState?(state)
            surroundings.logger.info(
                "a page is \(state.step.rawValue)\(state.reason.map { ": \($0)" } ?? "")", metadata: metadata)
        case .end(let reason):
            self.reason = reason
            surroundings.logger.info("a page has ended: \(reason)", metadata: metadata)
        case .restart: break
        }
    }

    private var metadata: Logger.Metadata {
        switch subject {
        case .stream(let names):
            ["room": "\(names.room)", "user": "\(names.user)", "stream": "\(names.stream.rawValue)"]
        case .overlay(let page): ["page": "\(page.address.shown)"]
        }
    }
}

extension PageSessionMachine.Input {
    /// Whether the input ends the page, so that only the worker's end follows.
    fileprivate var isLast: Bool {
        switch self {
        case .close, .report(.ended): true
        default: false
        }
    }
}

extension PageSessionMachine.Input: WorkerInput {
    typealias Report = PageReport
}
