import EncodedMedia
import ForkServer
import Foundation
import MixModel
import ProgramSplicer

/// A mixer from its relay's point of view: a child process at the other end of a socket.
///
/// The initialiser begins to start it; `stop`, `end` or `kill` ends it. Untrusted bytes are decoded only in the child.
final class MixerProcess: Sendable {
    enum Event: Sendable {
        /// The process runs. Does not occur if it cannot be started.
        case started(processID: Int32)
        case report(MixerReport)
        /// The mixer's output is unreadable or out of bounds, for this reason. Occurs once; the mixer must be killed.
        case unreadable(String)
        /// The process has ended. Occurs once, last.
        case exited(WorkerEnd)
    }

    private let worker: WorkerProcess
    /// Reports that have not been handled yet. The handler of a report must remove its `footprint`.
    let backlog: Backlog

    /// Largest size of reports waiting for the relay, in bytes: half a minute of a program.
    static let reportLimit = 64 << 20
    /// Seconds that a mixer may take to stop before it is killed.
    static let grace = 2.0

    /// Begins to start a mixer.
    /// - Parameters:
    ///   - executable: The `mixworker` binary.
    ///   - encoder: Encoder for programs without a preset, as accepted by `mixworker mixer --encoder`.
    ///   - forkServer: Creates the process, if it can.
    ///   - programStart: CLOCK_MONOTONIC at program time 0, in ns.
    ///   - onEvent: Called on the socket loop.
    /// - Throws: If no socket pair can be created.
    init(
        executable: URL, encoder: String, forkServer: ForkClient? = nil, programStart: Int64,
        onEvent: @escaping @Sendable (Event) -> Void
    ) throws {
        let backlog = Backlog(limit: MixerProcess.reportLimit)
        self.backlog = backlog
        let reader = ReportReader(
            backlog: backlog, clock: { MediaTime(nanoseconds: MonotonicClock.now() - programStart) }, onEvent: onEvent)
        worker = try WorkerProcess(
            executable: executable, arguments: ["mixer", "--relay", "\(getpid())", "--encoder", encoder],
            forkServer: forkServer, onStart: { onEvent(.started(processID: $0)) },
            onBytes: { reader.push($0) }, onExit: { onEvent(.exited($0)) })
    }

    /// The process's number; `nil` until it runs.
    var processID: Int32? { worker.processID }

    /// Number of bytes that the mixer has not taken yet. Grows when it hangs.
    var pendingBytes: Int { worker.pendingBytes }

    func send(_ command: MixerCommand) {
        // A command that cannot be encoded (a name beyond 65535 bytes) concerns one source and is dropped.
        guard let bytes = try? command.wireBytes() else { return }
        worker.send(bytes)
    }

    /// Asks the mixer to end, and kills it after `grace`.
    func stop() {
        send(.stop)
        worker.finish()
        worker.kill(after: MixerProcess.grace)
    }

    /// Stops the mixer and waits until it is gone, for slightly more than `grace`.
    func end() async {
        stop()
        await worker.waitForExit()
    }

    func kill() { worker.kill() }
}

/// Parses a mixer's bytes into reports, as long as they are readable, within the bounds of `MixerGate`, and being
/// handled. Used only on the socket loop.
final class ReportReader: @unchecked Sendable {
    private var reader = MessageReader<MixerReport>()
    private var gate = MixerGate()
    private var isOver = false
    private let backlog: Backlog
    private let clock: @Sendable () -> MediaTime
    private let onEvent: @Sendable (MixerProcess.Event) -> Void

    /// - Parameter clock: Returns the program time.
    init(
        backlog: Backlog, clock: @escaping @Sendable () -> MediaTime,
        onEvent: @escaping @Sendable (MixerProcess.Event) -> Void
    ) {
        self.backlog = backlog
        self.clock = clock
        self.onEvent = onEvent
    }

    func push(_ bytes: [UInt8]) {
        guard !isOver else { return }
        do {
            reader.push(bytes)
            while let report = try reader.next() {
                try gate.check(report, now: clock())
                guard case .taken = backlog.add(report.footprint) else {
                    return end("more than \(backlog.limit >> 20) MiB of its reports are pending")
                }
                onEvent(.report(report))
            }
        } catch let excess as MixerGate.Excess {
            end("floods the relay: \(excess)")
        } catch {
            end("unreadable report: \(error)")
        }
    }

    private func end(_ reason: String) {
        isOver = true
        reader = MessageReader()
        onEvent(.unreadable(reason))
    }
}

extension MixerReport {
    /// Approximate size in memory, in bytes.
    var footprint: Int {
        switch self {
        case .configuration(let configuration): configuration.bytes.count
        case .frame(let frame): frame.footprint
        case .sourceFailed(_, let reason), .failed(let reason): reason.utf8.count
        case .note(let code, let message): code.utf8.count + message.utf8.count
        case .volumes(let volumes): volumes.count * 64
        case .delays(let delays): delays.count * 64
        case .idle(let status, _): (status.media ?? "").utf8.count + (status.error ?? "").utf8.count
        }
    }
}
