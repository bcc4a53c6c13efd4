import Foundation
import Synchronization

/// The way in which a process ended.
public enum ProcessExit: Hashable, Sendable, CustomStringConvertible {
    case status(Int32)
    case signal(Int32)
    /// The status is unknown: the system discards that of children whose parent ignores SIGCHLD.
    case unknown

    /// - Parameter waitStatus: The status that `waitpid()` returns.
    public init(waitStatus: Int32) {
        let signal = waitStatus & 0x7F
        self = signal == 0 ? .status(waitStatus >> 8 & 0xFF) : .signal(signal)
    }

    public var description: String {
        switch self {
        case .status(let status): "status \(status)"
        case .signal(let number): "signal \(number)"
        case .unknown: "an unknown status"
        }
    }
}

/// A process that works for this one, whether or not it is its child. Safe to use from any thread.
public protocol RunningProcess: AnyObject, Sendable {
    var processID: Int32 { get }
    /// Sends a signal, unless the process has ended.
    func signal(_ number: Int32)
    /// Calls `body` once the process has ended, on a thread that waits for the end.
    func onExit(_ body: @escaping @Sendable (ProcessExit) -> Void)
}

/// A process started by `ProcessLaunch`. Safe to use from any thread.
///
/// The system keeps its identifier until its exit status has been collected through `exit`, `waitForExit` or `onExit`.
/// Releasing the object does not end the process.
public final class LaunchedProcess: RunningProcess {
    public let processID: Int32
    /// The exit, once the process has been waited for. From then on its identifier may belong to another process.
    private let ended = Mutex<ProcessExit?>(nil)

    init(_ processID: Int32) { self.processID = processID }

    /// The way in which the process ended; `nil` while it runs. Never blocks.
    public var exit: ProcessExit? {
        ended.withLock { ended in
            if ended != nil { return ended }
            var status: Int32 = 0
            switch waitpid(processID, &status, WNOHANG) {
            case processID: ended = ProcessExit(waitStatus: status)
            case -1 where errno == ECHILD: ended = .unknown
            default: break
            }
            return ended
        }
    }

    public var isRunning: Bool { exit == nil }

    /// Sends a signal, unless the process has ended.
    public func signal(_ number: Int32) {
        ended.withLock { ended in
            if ended == nil { kill(processID, number) }
        }
    }

    /// Waits for the end of the process. Blocks.
    @discardableResult public func waitForExit() -> ProcessExit {
        while true {
            if let exit { return exit }
            // Leaves reaping to the code under the lock, so that no signal can reach a later process with the same
            // identifier.
            var information = siginfo_t()
            waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT)
        }
    }

    /// Calls `body` once the process has ended, on a thread that waits for the end.
    public func onExit(_ body: @escaping @Sendable (ProcessExit) -> Void) {
        let thread = Thread { body(self.waitForExit()) }
        thread.name = "process-exit"
        thread.start()
    }
}
