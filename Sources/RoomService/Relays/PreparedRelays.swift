import Synchronization

/// The processes of relays that were started for rooms moving to this node, by socket. The supervisors of the rooms'
/// owners take them over. Thread-safe.
final class PreparedRelays: Sendable {
    private let processes = Mutex<[String: any RelayProcessHandle]>([:])

    func keep(_ process: any RelayProcessHandle, at socket: String) {
        processes.withLock { $0[socket] = process }
    }

    /// Removes and returns the process of a socket; `nil` if there is none, or it was already taken.
    func take(_ socket: String) -> (any RelayProcessHandle)? {
        processes.withLock { $0.removeValue(forKey: socket) }
    }

    var count: Int { processes.withLock { $0.count } }
}
