import Foundation
import MixModel
import Synchronization

/// A mixer as its relay sees it: a child process at the other end of a socket.
///
/// It is started when made, and ended by `stop` or `end`. Untrusted bytes are decoded only in there.
final class MixerProcess: Sendable {
    enum Event: Sendable {
        case report(MixerReport)
        /// Once, last.
        case exited(String)
    }

    private let channel: SocketChannel
    private let process: Process
    /// Finishes when the process has ended.
    private let exit: AsyncStream<Never>
    private let ending: Ending

    /// How long a mixer that was told to stop may take before it is killed.
    static let grace = 2.0

    /// - Parameter executable: the `mixworker` binary.
    /// - Throws: when no socket pair or process can be made.
    init(executable: URL, label: String, onEvent: @escaping @Sendable (Event) -> Void) throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw UnixListener.Failure(description: "no socket pair: \(String(cString: strerror(errno)))")
        }
        for end in ends { MixerProcess.enlargeBuffers(of: end) }
        process = Process()
        process.executableURL = executable
        process.arguments = ["mixer"]
        let childEnd = FileHandle(fileDescriptor: ends[1], closeOnDealloc: false)
        process.standardInput = childEnd
        let (exit, exited) = AsyncStream.makeStream(of: Never.self)
        self.exit = exit
        let ending = Ending { onEvent(.exited($0)) }
        self.ending = ending
        process.terminationHandler = { process in
            let how = process.terminationReason == .exit ? "exit code" : "signal"
            ending.exited("\(how) \(process.terminationStatus)")
            exited.finish()
        }
        let reader = ReportReader(onEvent: onEvent)
        channel = SocketChannel(
            descriptor: ends[0], label: label, onBytes: { reader.push($0) }, onClosed: { ending.closed() })
        do {
            try process.runWithSignalsUnblocked()
        } catch {
            Foundation.close(ends[1])
            channel.close()
            throw error
        }
        Foundation.close(ends[1])
    }

    var processID: Int32 { process.processIdentifier }

    /// Bytes the mixer has not taken yet; grows when it hangs.
    var pendingBytes: Int { channel.pendingBytes }

    func send(_ command: MixerCommand) {
        // A command that cannot be written (a name beyond 65535 bytes) concerns one source and is dropped.
        guard let bytes = try? command.wireBytes() else { return }
        channel.send(bytes)
    }

    /// Asks it to end, and sees to it that it does.
    func stop() {
        send(.stop)
        channel.finish()
        ending.closed()
        let process = process
        DispatchQueue.global().asyncAfter(deadline: .now() + MixerProcess.grace) {
            if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
        }
    }

    /// As `stop()`, and waits until it is gone: little more than `grace`.
    func end() async {
        stop()
        for await _ in exit {}
    }

    func kill() {
        channel.close()
        ending.closed()
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    /// A GOP of two people must fit, so that replaying it does not take turns with the decoder.
    private static func enlargeBuffers(of descriptor: Int32) {
        var size: Int32 = 1 << 20
        for option in [SO_SNDBUF, SO_RCVBUF] {
            setsockopt(descriptor, SOL_SOCKET, option, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

/// Tells of a mixer's end after its last report: the process may be seen to be gone before everything that it has sent
/// was read, and with it the reason.
private final class Ending: Sendable {
    private struct State {
        var exit: String?
        var isClosed = false
        var isTold = false
    }

    /// How long what was sent is waited for, in seconds.
    private static let patience = 0.2

    private let state = Mutex(State())
    private let tell: @Sendable (String) -> Void

    init(_ tell: @escaping @Sendable (String) -> Void) { self.tell = tell }

    func exited(_ how: String) {
        state.withLock { $0.exit = how }
        tellIfComplete()
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.closed() }
    }

    /// Nothing more is read.
    func closed() {
        state.withLock { $0.isClosed = true }
        tellIfComplete()
    }

    private func tellIfComplete() {
        let exit = state.withLock { state -> String? in
            guard state.isClosed, !state.isTold, let exit = state.exit else { return nil }
            state.isTold = true
            return exit
        }
        if let exit { tell(exit) }
    }
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
