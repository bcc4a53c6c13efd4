import Foundation

/// The number of files and connections that this process may have open. Each viewer needs one.
package enum DescriptorLimit {
    /// Descriptors kept for everything but HTTP connections: relays, the store, layouts, logs.
    package static let kept = 1024

    /// Descriptors that connections leave free whatever else is open, and the share of a limit that is smaller.
    ///
    /// A process that cannot open a file does not only fail at what it does: libdispatch ends it, because it reads the state of
    /// its threads from files.
    private static let reserve = (most: 32, share: 8)

    /// Whether so few descriptors are left that no connection may be accepted.
    ///
    /// - Parameters:
    ///   - descriptor: The lowest one that is free.
    ///   - limit: Number of descriptors that the process may have.
    static func isNear(_ descriptor: Int32, limit: Int) -> Bool {
        Int(descriptor) >= limit - min(reserve.most, limit / reserve.share)
    }

    /// Whether so few descriptors are left now. Opens one for a moment; the kernel gives the lowest that is free.
    package static var isNear: Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return isNear(descriptor, limit: Int(clamping: limit.rlim_cur))
    }

    /// Raises the limit to the most that the system allows this process.
    ///
    /// - Returns: The limit now; `nil` when the system does not report it.
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
