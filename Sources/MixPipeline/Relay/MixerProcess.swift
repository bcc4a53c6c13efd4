import Foundation
import MixModel

/// A mixer as its relay sees it: a child process at the other end of a socket.
///
/// It is started when made, and ended by `stop` or `end`. Untrusted bytes are decoded only in there.
final class MixerProcess: Sendable {
    enum Event: Sendable {
        case report(MixerReport)
        /// Once, last.
        case exited(String)
    }

    private let worker: WorkerProcess

    /// How long a mixer that was told to stop may take before it is killed.
    static let grace = 2.0

    /// - Parameter executable: the `mixworker` binary.
    /// - Throws: when no socket pair or process can be made.
    init(executable: URL, label: String, onEvent: @escaping @Sendable (Event) -> Void) throws {
        let reader = ReportReader(onEvent: onEvent)
        worker = try WorkerProcess(
            executable: executable, arguments: ["mixer"], label: label, onBytes: { reader.push($0) },
            onExit: { onEvent(.exited($0)) })
    }

    var processID: Int32 { worker.processID }

    /// Bytes the mixer has not taken yet; grows when it hangs.
    var pendingBytes: Int { worker.pendingBytes }

    func send(_ command: MixerCommand) {
        // A command that cannot be written (a name beyond 65535 bytes) concerns one source and is dropped.
        guard let bytes = try? command.wireBytes() else { return }
        worker.send(bytes)
    }

    /// Asks it to end, and sees to it that it does.
    func stop() {
        send(.stop)
        worker.finish()
        worker.kill(after: MixerProcess.grace)
    }

    /// As `stop()`, and waits until it is gone: little more than `grace`.
    func end() async {
        stop()
        await worker.waitForExit()
    }

    func kill() { worker.kill() }
}

/// Turns a mixer's bytes into reports. Used only on its channel's queue.
private final class ReportReader: @unchecked Sendable {
    private var reader = MessageReader<MixerReport>()
    private let onEvent: @Sendable (MixerProcess.Event) -> Void

    init(onEvent: @escaping @Sendable (MixerProcess.Event) -> Void) { self.onEvent = onEvent }

    func push(_ bytes: [UInt8]) {
        do {
            reader.push(bytes)
            while let report = try reader.next() { onEvent(.report(report)) }
        } catch {
            onEvent(.report(.failed(reason: "unreadable report: \(error)")))
        }
    }
}
