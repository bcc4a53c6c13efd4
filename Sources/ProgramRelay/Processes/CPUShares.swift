import RTMP

/// Divides the CPU time of a process among its relays, by the inputs that each of them has handled.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, where it is used.
public final class CPUShares: @unchecked Sendable {
    /// A relay's share.
    final class Share {
        /// Inputs that the relay has handled.
        var handled = 0
        /// Inputs at the last division, and the CPU time up to then, in seconds.
        fileprivate var before = 0
        fileprivate(set) var seconds = 0.0
    }

    private var shares: [ObjectIdentifier: Share] = [:]
    /// CPU time of the process that has been divided, in seconds.
    private var divided = 0.0

    public init() {}

    /// Adds a relay. The CPU time used so far belongs to the earlier relays.
    /// - Parameter process: CPU time of the process, in seconds.
    func join(process: Double) -> Share {
        if !shares.isEmpty { divide(process) }
        let share = Share()
        shares[ObjectIdentifier(share)] = share
        return share
    }

    func leave(_ share: Share, process: Double) {
        divide(process)
        shares[ObjectIdentifier(share)] = nil
    }

    /// Distributes the CPU time that the process has used since the last call among the relays.
    func divide(_ process: Double) {
        let used = max(0, process - divided)
        divided = max(process, divided)
        let all = shares.values.reduce(0) { $0 + $1.handled - $1.before }
        for share in shares.values {
            let part = all > 0 ? Double(share.handled - share.before) / Double(all) : 1 / Double(shares.count)
            share.seconds += used * part
            share.before = share.handled
        }
    }
}
