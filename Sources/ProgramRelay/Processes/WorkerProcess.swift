import ChildProcesses
import Foundation
import Synchronization

/// A `mixworker` process that a relay has started, at the other end of a socket that is its standard input.
///
/// The initialiser starts it, and the owner has to end it. Safe to use from any thread.
final class WorkerProcess: Sendable {
    private let channel: SocketChannel
    private let process: LaunchedProcess
    /// Finishes when the process has ended and `onExit` was called.
    private let exit: AsyncStream<Never>
    private let ending: Ending

    /// Starts a process.
    /// - Parameters:
    ///   - executable: The `mixworker` binary.
    ///   - onBytes: Takes bytes from the process, in order.
    ///   - onSent: Called when the process has been sent everything given to `send`, also while it is ending.
    ///   - onExit: Called once, last, with the way in which it ended, in words.
    /// - Throws: If no socket pair or process can be created.
    init(
        executable: URL, arguments: [String], label: String, onBytes: @escaping @Sendable ([UInt8]) -> Void,
        onSent: (@Sendable () -> Void)? = nil, onExit: @escaping @Sendable (String) -> Void
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw UnixListener.Failure(description: "no socket pair: \(String(cString: strerror(errno)))")
        }
        for end in ends { WorkerProcess.enlargeBuffers(of: end) }
        // A copy kept by this process would hide that the other one has closed its end.
        defer { Foundation.close(ends[1]) }
        var launch = ProcessLaunch(executable.path, arguments)
        launch.input = .descriptor(ends[1])
        do {
            process = try launch.start()
        } catch {
            Foundation.close(ends[0])
            throw error
        }
        let (exit, exited) = AsyncStream.makeStream(of: Never.self)
        self.exit = exit
        let ending = Ending {
            onExit($0)
            exited.finish()
        }
        self.ending = ending
        channel = SocketChannel(
            descriptor: ends[0], label: label, onBytes: onBytes, onSent: onSent, onClosed: { ending.closed() })
        process.onExit { exit in
            if case .status(let status) = exit {
                ending.exited("exit code \(status)")
            } else {
                ending.exited("\(exit)")
            }
        }
    }

    var processID: Int32 { process.processID }

    /// Bytes that the process has not taken yet. Grows when it hangs.
    var pendingBytes: Int { channel.pendingBytes }

    /// Queues bytes; never waits.
    func send(_ bytes: [UInt8]) { channel.send(bytes) }

    /// Ends the process's standard input after what is queued. Its output is still read.
    func endInput() { channel.endWriting() }

    /// Closes the connection after what is queued. Further output of the process need not be read.
    func finish() {
        channel.finish()
        ending.closed()
    }

    /// Kills the process unless it has ended by itself within `seconds`.
    func kill(after seconds: Double) {
        let process = process
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) {
            process.signal(SIGKILL)
        }
    }

    func kill() {
        channel.close()
        ending.closed()
        process.signal(SIGKILL)
    }

    /// Waits until the process is gone and `onExit` was called. Only one caller may wait.
    func waitForExit() async {
        for await _ in exit {}
    }

    /// Enlarges a socket's buffers, so that a GOP of two participants fits and replaying it need not wait for a
    /// decoder.
    private static func enlargeBuffers(of descriptor: Int32) {
        var size: Int32 = 1 << 20
        for option in [SO_SNDBUF, SO_RCVBUF] {
            setsockopt(descriptor, SOL_SOCKET, option, &size, socklen_t(MemoryLayout<Int32>.size))
        }
    }
}

/// Reports a process's end after its last output.
///
/// The process may be seen to be gone before all of its output, which may contain the reason, was read.
private final class Ending: Sendable {
    private struct State {
        var exit: String?
        var isClosed = false
        var isTold = false
    }

    /// Longest wait for the rest of the output, in seconds.
    private static let patience = 0.2

    private let state = Mutex(State())
    private let tell: @Sendable (String) -> Void

    init(_ tell: @escaping @Sendable (String) -> Void) { self.tell = tell }

    func exited(_ how: String) {
        state.withLock { $0.exit = how }
        tellIfComplete()
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.closed() }
    }

    /// Notes that no more output is read.
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
