import ChildProcesses
import ForkServer
import Foundation
import RTMP
import Synchronization

/// A `mixworker` process that a relay starts, connected by a socket that is its standard input.
///
/// The initialiser returns before the process runs, because starting one takes milliseconds; data sent in the meantime
/// waits in the socket. The owner must end it. Safe to use from any thread. Callbacks are made one at a time on the
/// socket loop, never from within a call.
final class WorkerProcess: Sendable {
    private struct Life {
        /// The process once it runs.
        var process: (any RunningProcess)?
        var isKilled = false
    }

    /// The channel to a process until the process has ended.
    private final class Open: Sendable {
        let channel = Mutex<SocketChannel?>(nil)
    }

    /// Starts processes, one at a time.
    private static let spawner = DispatchQueue(label: "relay.spawner")

    private let channel: SocketChannel
    private let life = Mutex(Life())
    /// Finishes when the process has ended and `onExit` was called.
    private let exit: AsyncStream<Never>
    private let ending: WorkerEnding

    /// Begins to start a process.
    /// - Parameters:
    ///   - executable: The `mixworker` binary.
    ///   - forkServer: Creates the process, with its standard error as output; if it cannot, the binary is started.
    ///   - onStart: Called once, first, with the number of the process, unless it cannot be started.
    ///   - onBytes: Called with bytes from the process, in order.
    ///   - onSent: Called when everything given to `send` has been sent to the process, even while it is ending.
    ///   - onExit: Called once, last, with the way in which it ended.
    /// - Throws: If no socket pair can be created.
    init(
        executable: URL, arguments: [String], forkServer: ForkClient? = nil,
        onStart: @escaping @Sendable (Int32) -> Void = { _ in },
        onBytes: @escaping @Sendable ([UInt8]) -> Void, onSent: (@Sendable () -> Void)? = nil,
        onExit: @escaping @Sendable (WorkerEnd) -> Void
    ) throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw UnixListener.Failure(description: "no socket pair: \(String(cString: strerror(errno)))")
        }
        for end in ends { WorkerProcess.enlargeBuffers(of: end) }
        var launch = ProcessLaunch(executable.path, arguments)
        launch.input = .descriptor(ends[1])
        let (exit, exited) = AsyncStream.makeStream(of: Never.self)
        self.exit = exit
        let open = Open()
        let ending = WorkerEnding {
            onExit($0)
            // A channel whose other side has closed keeps its descriptor until its owner closes it, too.
            open.channel.withLock { $0.take() }?.close()
            exited.finish()
        }
        self.ending = ending
        let channel = SocketChannel(
            descriptor: ends[0], isPaused: true, onBytes: onBytes, onSent: onSent, onClosed: { ending.closed() })
        self.channel = channel
        open.channel.withLock { $0 = channel }
        WorkerProcess.spawner.async { [self, launch, childEnd = ends[1]] in
            start(launch, forkServer, childEnd, onStart)
        }
    }

    /// The process's number; `nil` until it runs.
    var processID: Int32? { life.withLock { $0.process?.processID } }

    /// Number of bytes that the process has not taken yet. Grows when it hangs.
    var pendingBytes: Int { channel.pendingBytes }

    /// Queues bytes; never waits.
    func send(_ bytes: [UInt8]) { channel.send(bytes) }

    /// Ends the process's standard input after the queued bytes. Its output is still read.
    func endInput() { channel.endWriting() }

    /// Sends the queued bytes. Further output of the process is not delivered.
    func finish() {
        channel.finish()
        ending.closed()
    }

    /// Kills the process unless it has ended by itself within `seconds`.
    func kill(after seconds: Double) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in killProcess() }
    }

    func kill() {
        channel.close()
        ending.closed()
        killProcess()
    }

    /// Waits until the process is gone and `onExit` was called. Only one caller may wait.
    func waitForExit() async {
        for await _ in exit {}
    }

    private func killProcess() {
        let process = life.withLock { life in
            life.isKilled = true
            return life.process
        }
        process?.signal(SIGKILL)
    }

    /// Starts the process. Blocks for a few milliseconds, and for half a second if the fork server hangs.
    private func start(
        _ launch: ProcessLaunch, _ forkServer: ForkClient?, _ childEnd: Int32,
        _ onStart: @escaping @Sendable (Int32) -> Void
    ) {
        // A copy kept by this process would hide that the other one has closed its end.
        defer { Foundation.close(childEnd) }
        guard !life.withLock({ $0.isKilled }) else {
            channel.close()
            return ending.ended(.notStarted("it was killed before"))
        }
        let process: any RunningProcess
        do {
            process =
                try forkServer?.start(
                    launch.arguments, input: childEnd, output: FileHandle.standardError.fileDescriptor)
                ?? launch.start()
        } catch {
            channel.close()
            return ending.ended(.notStarted("\(error)"))
        }
        let isKilled = life.withLock { life in
            life.process = process
            return life.isKilled
        }
        if isKilled { killProcess() }
        process.onExit { [ending] exit in
            if case .status(let status) = exit {
                ending.ended(.exited("exit code \(status)"))
            } else {
                ending.ended(.exited("\(exit)"))
            }
        }
        // Output that the process has already written is read after that.
        SocketLoop.shared.perform { [channel] in
            onStart(process.processID)
            channel.resume()
        }
        ending.started()
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
