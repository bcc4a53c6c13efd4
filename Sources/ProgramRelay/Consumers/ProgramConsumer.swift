import Dispatch
import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer
import Synchronization
import TextFormats

/// A child process of a relay that receives a program: a recorder or a packager.
///
/// A crash, a full disk or a bad file in the child never affects the program.
///
/// The process is `mixworker SUBCOMMAND` with one end of a socket as its standard input. It reads one line of JSON with
/// its settings and then the program as FLV: header, metadata, sequence headers, then every tag from a keyframe on. It
/// writes reports to the same socket, one JSON object a line. The end of its input tells it to close its files.
///
/// Nothing here waits: `send` appends to a bounded queue, and a process that is too slow loses whole groups of
/// pictures. A process that crashes or hangs is restarted, after a longer delay each time, and continues with the next
/// keyframe. Safe to use from any thread. The owner calls `tick` several times a second, and `end` once.
final class ProgramConsumer<Settings: Encodable & Sendable, Report: ConsumerReport>: Sendable {
    enum Event: Sendable {
        case started(processID: Int32)
        case report(Report)
        /// The process is gone without having been asked to end, or could not be started. `isFinal`: it is not
        /// restarted.
        case failed(reason: String, isFinal: Bool)
        /// The consumer has ended. Occurs once, last, after `end`.
        case ended
    }

    private struct State {
        var machine: ConsumerMachine
        var queue: OutputQueue
        var process: WorkerProcess?
        /// Number of processes started so far. Distinguishes late events of an old process.
        var attempt = 0
        /// Number of bytes sent to the process.
        var sent: Int64 = 0
        var finalFailure: String?
        var isEnding = false
    }

    private let worker: URL
    private let subcommand: String
    private let settingsLine: [UInt8]
    /// Parses the process's reports, which may take long: a rendition's pictures are lines of megabytes.
    private let reader: DispatchQueue
    private let onEvent: @Sendable (Event) -> Void
    private let state: Mutex<State>

    /// Largest size of reports waiting for `reader`, in bytes.
    private static var reportLimit: Int { 64 << 20 }

    /// Bytes that may wait in front of the socket. Further ones wait in the queue, where they can be dropped.
    private static var window: Int { 128 << 10 }

    /// Creates a consumer, whose process starts with the next `tick`.
    /// - Parameters:
    ///   - worker: The `mixworker` binary.
    ///   - settings: The first line that the process reads. May contain secrets, because it is not an argument, which
    ///     every user could see.
    ///   - preamble: Headers of the program so far, and its current group of pictures.
    ///   - limits: Limits of the queue in front of the process.
    ///   - onEvent: Called on the consumer's own queue, one event at a time.
    init(
        worker: URL, subcommand: String, settings: Settings, preamble: [FLVTag], label: String,
        policy: ConsumerMachine.Policy = ConsumerMachine.Policy(),
        limits: OutputQueue.Limits = .ofConsumers,
        onEvent: @escaping @Sendable (Event) -> Void
    ) {
        self.worker = worker
        self.subcommand = subcommand
        reader = DispatchQueue(label: label)
        self.onEvent = onEvent
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Settings are plain values: encoding them cannot fail.
        settingsLine = [UInt8]((try? encoder.encode(settings)) ?? Data()) + [0x0A]
        state = Mutex(
            State(
                machine: ConsumerMachine(policy: policy, now: .clock),
                queue: OutputQueue(limits: limits, preamble: preamble.map(OutputTag.init))))
    }

    /// Queues tags of the program, in order. Never waits.
    func send(_ tags: [FLVTag]) { send(shared: tags.map(OutputTag.init)) }

    /// Queues tags that are encoded once and shared with other receivers. Never waits.
    func send(shared tags: [OutputTag]) {
        state.withLock { state in
            guard !state.isEnding, state.machine.state != .finished else { return }
            for tag in tags { state.queue.append(tag) }
            Self.pump(&state)
        }
    }

    /// Starts, restarts or kills the process when that is due. Call it several times a second.
    func tick() {
        let (action, process) = state.withLock { state -> (ConsumerMachine.Action?, WorkerProcess?) in
            guard !state.isEnding else { return (nil, nil) }
            let pending = state.process?.pendingBytes ?? 0
            let action = state.machine.advance(
                to: .clock, taken: state.sent - Int64(pending), isWaiting: pending > 0 || !state.queue.isEmpty)
            return (action, state.process)
        }
        switch action {
        case .launch: launch()
        case .kill: process?.kill()
        case nil: break
        }
    }

    /// Last failure, if any; `nil` while all is well.
    var lastError: String? { state.withLock { $0.machine.lastError } }

    /// Number of frames lost because the process was too slow or absent.
    var droppedFrames: Int { state.withLock { $0.queue.droppedFrames } }

    /// Sends the remaining tags to the process, ends its input and waits until it has closed its files.
    /// - Parameter grace: Seconds after which the process is killed.
    func end(within grace: Double = 10) async {
        let (isFirst, process) = state.withLock { state -> (Bool, WorkerProcess?) in
            guard !state.isEnding else { return (false, nil) }
            state.isEnding = true
            state.machine.finish()
            if let process = state.process {
                for tag in state.queue.take(.max) { process.send(tag.bytes) }
            }
            return (true, state.process)
        }
        guard isFirst else { return }
        if let process {
            process.endInput()
            process.kill(after: grace)
            await process.waitForExit()
        }
        await withCheckedContinuation { continuation in
            reader.async { [self] in
                onEvent(.ended)
                continuation.resume()
            }
        }
    }

    // MARK: - The process

    /// Begins to start a process. Never waits.
    private func launch() {
        let failure = state.withLock { state -> String? in
            state.attempt += 1
            state.finalFailure = nil
            let attempt = state.attempt
            let lines = ReportLines<Report> { [weak self] in self?.received($0, attempt: attempt) }
            let backlog = Backlog(limit: Self.reportLimit)
            do {
                let process = try WorkerProcess(
                    executable: worker, arguments: [subcommand],
                    onStart: { [weak self, reader] processID in
                        reader.async { [weak self] in self?.onEvent(.started(processID: processID)) }
                    },
                    onBytes: { [weak self, reader] bytes in
                        switch backlog.add(bytes.count) {
                        case .taken:
                            reader.async {
                                lines.push(bytes)
                                backlog.remove(bytes.count)
                            }
                        case .exceeded: self?.kill(attempt: attempt)
                        case .over: break
                        }
                    },
                    onSent: { [weak self] in self?.pump(attempt: attempt) },
                    onExit: { [weak self, reader] end in
                        reader.async { [weak self] in self?.exited(end, attempt: attempt) }
                    })
                state.process = process
                state.sent = 0
                Self.send(settingsLine + FLVTag.fileHeader, &state)
                Self.pump(&state)
                return nil
            } catch {
                let reason = "cannot be started: \(error)"
                state.machine.ended(reason, isFinal: false, at: .clock)
                return reason
            }
        }
        if let failure { reader.async { [self] in onEvent(.failed(reason: failure, isFinal: false)) } }
    }

    private func kill(attempt: Int) {
        state.withLock { $0.attempt == attempt ? $0.process : nil }?.kill()
    }

    private func pump(attempt: Int) {
        state.withLock { state in
            guard state.attempt == attempt, !state.isEnding else { return }
            Self.pump(&state)
        }
    }

    /// Moves tags from the queue to the process as far as its window is open.
    private static func pump(_ state: inout State) {
        guard let process = state.process else { return }
        let room = window - process.pendingBytes
        guard room > 0, !state.queue.isEmpty else { return }
        for tag in state.queue.take(room) { send(tag.bytes, &state) }
    }

    private static func send(_ bytes: [UInt8], _ state: inout State) {
        state.sent += Int64(bytes.count)
        state.process?.send(bytes)
    }

    private func received(_ report: Report, attempt: Int) {
        let isCurrent = state.withLock { state in
            guard state.attempt == attempt else { return false }
            if let failure = report.finalFailure { state.finalFailure = failure } else { state.machine.recovered() }
            return true
        }
        if isCurrent { onEvent(.report(report)) }
    }

    private func exited(_ end: WorkerEnd, attempt: Int) {
        let event = state.withLock { state -> Event? in
            guard state.attempt == attempt else { return nil }
            state.process = nil
            guard !state.isEnding else { return nil }
            let final = state.finalFailure
            // The next process starts with the next group of pictures; nothing is lost from then on.
            state.queue.restart()
            state.machine.ended(final ?? end.failure, isFinal: final != nil, at: .clock)
            return .failed(reason: state.machine.lastError ?? end.failure, isFinal: final != nil)
        }
        if let event { onEvent(event) }
    }
}

/// Parses a consumer's bytes into reports. Used only on its consumer's queue.
private final class ReportLines<Report: ConsumerReport>: @unchecked Sendable {
    /// Large enough for a rendition's picture, which is one line.
    private var lines = LineBuffer(limit: 16 << 20)
    private let onReport: @Sendable (Report) -> Void

    init(onReport: @escaping @Sendable (Report) -> Void) { self.onReport = onReport }

    func push(_ bytes: [UInt8]) {
        // An unreadable line is skipped, and the process continues.
        for line in lines.push(bytes) ?? [] {
            if let report = try? JSONDecoder().decode(Report.self, from: Data(line)) { onReport(report) }
        }
    }
}

extension MediaTime {
    /// The current time of CLOCK_MONOTONIC.
    fileprivate static var clock: MediaTime { MediaTime(nanoseconds: MonotonicClock.now()) }
}
