import ChildProcesses
import Foundation

/// The limit of files and connections that this process may have open. Each viewer needs one.
package enum DescriptorLimit {
    /// Descriptors reserved for everything except HTTP connections: relays, the store, layouts, logs.
    package static let kept = 1024

    /// Whether so few descriptors are left that connections of strangers have to wait.
    package static var isNear: Bool { DescriptorReserve.ofStrangers.isReached }

    /// Raises the limit to the maximum that the system allows this process.
    ///
    /// - Returns: The new limit; `nil` when the system does not report it.
    package static func raise() -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
