import CForkServer
import ChildProcesses
import Foundation

/// A process that a fork server has created for this one. Safe to use from any thread.
///
/// Identified by a descriptor, so that no signal can reach a later process with the same number. Releasing the object
/// does not end the process.
public final class ForkedProcess: RunningProcess {
    public let processID: Int32
    /// Readable once the process has ended (pidfd_open(2)).
    private let descriptor: Int32
    /// The connection on which the server reports how the process ended.
    private let connection: Int32

    /// Longest wait in seconds for the server's report on a process that has ended.
    private static let patience = 0.25

    init(processID: Int32, descriptor: Int32, connection: Int32) {
        self.processID = processID
        self.descriptor = descriptor
        self.connection = connection
    }

    deinit {
        close(descriptor)
        close(connection)
    }

    public func signal(_ number: Int32) { _ = forkserver_signal(descriptor, number) }

    public func onExit(_ body: @escaping @Sendable (ProcessExit) -> Void) {
        let thread = Thread { body(self.waitForExit()) }
        thread.name = "process-exit"
        thread.start()
    }

    /// Waits for the end of the process. Blocks.
    private func waitForExit() -> ProcessExit {
        var watch = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&watch, 1, -1) < 0, errno == EINTR {}
        // A server that is gone or busy has not collected the status.
        guard let message = PacketSocket.receive(upTo: ForkAnswer.limit, on: connection),
            case .ended(let status) = ForkAnswer(message.bytes)
        else { return .unknown }
        return ProcessExit(waitStatus: status)
    }
}
