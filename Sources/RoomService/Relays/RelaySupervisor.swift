import EncodedMedia
import Foundation
import Logging
import MixModel

/// Performs the actions of one task's machine: starts and connects its relay, sends it plans, and keeps its deadlines.
/// Makes no decisions: it reports events and receives new actions in return.
actor RelaySupervisor {
    /// A report about the task.
    enum Report: Sendable {
        case deadline(DeadlineToken)
        case connected(RelayStatus)
        case status(RelayStatus)
        case switched(SwitchRecord)
        case note(code: String, message: String)
        /// The relay is gone although it is wanted.
        case lost(String)
        /// The relay ended after `drainRelay`.
        case drained

        /// Whether the relay itself sent the report.
        var isTold: Bool {
            switch self {
            case .connected, .status, .switched, .note: true
            case .deadline, .lost, .drained: false
            }
        }
    }

    /// Reports from the relay that wait to be handled. The code that handles a report removes it.
    nonisolated let backlog = ReportBacklog()

    private let task: TaskID
    private let socket: String
    private let starter: any RelayStarting
    private let starts: Turnstile
    private let deadline: (@Sendable () -> Int64)?
    private let prepared: PreparedRelays?
    private let logger: Logger
    private let report: @Sendable (Report) -> Void
    private let onTold: @Sendable (ProgramPlan) -> Void
    private nonisolated let actions: AsyncStream<TaskAction>
    private nonisolated let queue: AsyncStream<TaskAction>.Continuation

    /// Session of the relay that is connected or connecting.
    private var session: Session?
    /// The process that was started last; kept until it has been waited for.
    private var process: (any RelayProcessHandle)?
    /// Whether another node runs the program.
    private var isAbandoned = false

    private struct Session {
        let number: Int
        let commands: AsyncStream<RelayCommand>.Continuation
        let inbox: ReportInbox
        var isDraining = false
    }
    private var sessions = 0

    /// Time from a drain request to SIGTERM. SIGKILL follows after another `terminateLimit`.
    static let drainLimit: Duration = .seconds(5)
    static let terminateLimit: Duration = .milliseconds(1500)
    /// Longest wait for the end of a relay that was killed.
    private static let collectLimit: Duration = .seconds(1)
    /// Interval between checks of whether the relay may send for longer.
    static let tellingInterval: Duration = .milliseconds(500)

    /// - Parameters:
    ///   - starts: Limits the number of relays that are connected or started at once.
    ///   - deadline: Returns the time until which the relay may send, in ns of CLOCK_BOOTTIME; `nil` = without limit.
    ///   - prepared: Relays that were started before their rooms arrived at this node.
    ///   - onTold: Called when a plan has been sent to the relay.
    init(
        task: TaskID, socket: String, starter: any RelayStarting, starts: Turnstile,
        deadline: (@Sendable () -> Int64)? = nil, prepared: PreparedRelays? = nil,
        logger: Logger, onTold: @escaping @Sendable (ProgramPlan) -> Void = { _ in },
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.task = task
        self.socket = socket
        self.starter = starter
        self.starts = starts
        self.deadline = deadline
        self.prepared = prepared
        self.logger = logger
        self.report = report
        self.onTold = onTold
        (actions, queue) = AsyncStream.makeStream()
    }

    /// Queues actions, which `run` performs in order.
    nonisolated func perform(_ actions: [TaskAction]) {
        for action in actions { queue.yield(action) }
    }

    /// Ends the queue: `run` returns when the queued actions are done.
    nonisolated func finish() { queue.finish() }

    /// Performs actions until cancelled. After a cancellation the relay continues and keeps its last plan on air.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await action in actions {
                switch action {
                case .launchRelay:
                    let (number, commands) = beginSession()
                    group.addTask { await self.runSession(number, commands, mayStart: true) }
                    if let deadline { group.addTask { await self.keepTelling(deadline, number) } }
                case .apply(let plan):
                    session?.commands.yield(.apply(plan))
                case .resume(let place):
                    session?.commands.yield(.resume(place))
                case .standBy:
                    session?.commands.yield(.standBy)
                case .retryOutput(let output):
                    session?.commands.yield(.retryOutput(output))
                case .drainRelay:
                    if session == nil {
                        // After a restart, only a relay that still exists has to be drained.
                        let (number, commands) = beginSession()
                        group.addTask { await self.runSession(number, commands, mayStart: false) }
                    }
                    session?.isDraining = true
                    session?.commands.yield(.drain)
                    if let number = session?.number { group.addTask { await self.enforceDrain(of: number) } }
                case .scheduleDeadline(let token, let time):
                    group.addTask { [report] in
                        guard (try? await MonotonicClock.sleep(until: time)) != nil else { return }
                        report(.deadline(token))
                    }
                case .record:
                    break  // Stored with the decision itself.
                }
            }
            group.cancelAll()
        }
    }

    /// Sends the relay its deadline for sending whenever the deadline is extended.
    private func keepTelling(_ deadline: @Sendable () -> Int64, _ number: Int) async {
        var told: Int64 = 0
        while session?.number == number {
            let until = deadline()
            if until > told { session?.commands.yield(.hold(until: until)) }
            told = max(told, until)
            guard (try? await Task.sleep(for: Self.tellingInterval)) != nil else { return }
        }
    }

    /// Ends the relay at once, because another node runs the program. No further relay is started. The caller calls
    /// `collect` afterwards.
    func abandon() {
        isAbandoned = true
        queue.finish()
        guard session != nil || process != nil else { return }
        signal(SIGKILL, isHung: true)
        starter.killLeftover(socket: socket)
        // The next program at this socket is a different one.
        RelayProcessFile.removeClock(socket: socket)
    }

    /// Returns when an abandoned relay has ended, at most `collectLimit` later. Its session is cancelled and does not wait
    /// for it, and the system keeps an ended child process until its parent has waited for it.
    func collect() async {
        let limit = ContinuousClock.now + Self.collectLimit
        while let process, process.exitDescription() == nil, ContinuousClock.now < limit {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    private func beginSession() -> (Int, AsyncStream<RelayCommand>) {
        let (stream, continuation) = AsyncStream.makeStream(of: RelayCommand.self)
        session?.commands.finish()
        sessions += 1
        let inbox = ReportInbox(task: task, backlog: backlog, forward: report)
        session = Session(number: sessions, commands: continuation, inbox: inbox)
        if let deadline { continuation.yield(.hold(until: deadline())) }
        return (sessions, stream)
    }

    private func runSession(_ number: Int, _ commands: AsyncStream<RelayCommand>, mayStart: Bool) async {
        var reason = "the relay closed its connection"
        var isKilled = false
        do {
            guard let connection = try await starts.pass({ try await connect(mayStart: mayStart) }) else {
                endSession(number, reason: "no relay is running")
                return
            }
            guard let inbox = session?.inbox, session?.number == number else { return }
            let onTold = onTold
            try await connection.control(
                commands: commands,
                onSent: { command in
                    if case .apply(let plan) = command { onTold(plan) }
                }, onReport: { try inbox.receive($0) })
        } catch {
            reason = "\(error)"
            // A hung relay must not keep the task's socket and outputs.
            if case RelayError.silent = error {
                logger.error("relay hangs and is being killed")
                reason = "the relay hung (\(reason)) and was killed"
                isKilled = true
                signal(SIGKILL, isHung: true)
                starter.killLeftover(socket: socket)
            }
        }
        if Task.isCancelled { return }
        if let process {
            // The exit status says more than the end of the connection.
            let limit = ContinuousClock.now + .seconds(session?.isDraining == true ? 8 : 1)
            while process.exitDescription() == nil, ContinuousClock.now < limit {
                guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
            }
            if let exit = process.exitDescription() {
                if !isKilled { reason = exit }
                self.process = nil
            }
        }
        endSession(number, reason: reason)
    }

    private func endSession(_ number: Int, reason: String) {
        guard let ended = session, ended.number == number else { return }
        ended.commands.finish()
        session = nil
        if ended.isDraining { RelayProcessFile.removeClock(socket: socket) }
        report(ended.isDraining ? .drained : .lost(reason))
    }

    /// Connects to the existing relay, or starts one. Returns `nil` when there is none and none may be started.
    private func connect(mayStart: Bool) async throws -> RelayConnection? {
        if let connection = try? await RelayConnection.open(path: socket) {
            process = process ?? prepared?.take(socket)
            return connection
        }
        guard mayStart else { return nil }
        if let deadline, deadline() <= BootClock.now() { throw RelayError.notStarted("the node's lease has run out") }
        if isAbandoned { throw RelayError.notStarted("another node runs the program") }
        // The exit status of a prepared relay that has ended is collected, so that the system releases it.
        _ = prepared?.take(socket)?.exitDescription()
        let process = try starter.startAfresh(task: task, socket: socket)
        self.process = process
        if isAbandoned { process.signal(SIGKILL) }
        logger.info("relay started", metadata: ["pid": "\(process.processID)"])
        return try await process.connect(socket: socket)
    }

    private func enforceDrain(of number: Int) async {
        for (limit, signal) in [(Self.drainLimit, SIGTERM), (Self.terminateLimit, SIGKILL)] {
            let end = ContinuousClock.now + limit
            while session?.number == number, ContinuousClock.now < end {
                guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
            }
            guard session?.number == number else { return }
            logger.warning("relay does not exit", metadata: ["signal": "\(signal)"])
            self.signal(signal)
        }
    }

    /// Signals the relay only while its connection is open or its process has not been waited for. Until then the
    /// process identifier cannot be reused.
    ///
    /// A process that was started by an earlier run of the service and is shared with other programs is killed only if
    /// it hangs.
    private func signal(_ number: Int32, isHung: Bool = false) {
        if let process {
            process.signal(number)
        } else if let adopted = session?.inbox.process, adopted.id > 1, adopted.id != getpid() {
            if isHung || !adopted.isShared { kill(adopted.id, number) }
        }
    }
}
