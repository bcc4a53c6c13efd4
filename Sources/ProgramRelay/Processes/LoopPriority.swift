import ChildProcesses
import RTMP

/// The priority of the thread on which relays run.
public enum LoopPriority {
    /// Gives the socket loop priority over other threads of the machine where that is permitted: for root, and with
    /// `LimitNICE=`. It needs little time, and every packet waits for it.
    public static func raise() { SocketLoop.shared.perform { OwnProcess.favourThread() } }
}
