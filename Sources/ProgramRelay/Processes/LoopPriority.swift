import ChildProcesses
import RTMP

/// The priority of the thread on which relays run.
public enum LoopPriority {
    /// Puts the socket loop before other threads of the machine where that is allowed, as it is for root and with
    /// `LimitNICE=`. It needs little time, and every packet waits for it.
    public static func raise() { SocketLoop.shared.perform { OwnProcess.favourThread() } }
}
