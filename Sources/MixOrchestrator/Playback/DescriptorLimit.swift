import Foundation

/// The number of files and connections that this process may have open. Each viewer needs one.
enum DescriptorLimit {
    /// Descriptors kept for everything but HTTP connections: relays, the store, layouts, logs.
    static let kept = 1024

    /// Raises the limit to the most that the system allows this process.
    ///
    /// - Returns: The limit now; `nil` when the system does not report it.
    static func raise() -> Int? {
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

extension PlaybackSettings {
    /// Lowers the number of viewers to what the process can carry, so that they leave enough for everything else.
    ///
    /// - Parameters:
    ///   - connections: `http.maxConnections`.
    ///   - descriptors: Limit of open files; `nil` = unknown.
    /// - Returns: Warnings that name what was lowered, the reason and the remedy.
    mutating func fit(connections: Int, descriptors: Int?) -> [String] {
        var warnings: [String] = []
        let most = connections - min(connections / 4, 256)
        if maxViewers > most {
            maxViewers = most
            warnings.append(
                "at most \(most) viewers are admitted: http.maxConnections is \(connections), and some are reserved for "
                    + "requests. Raise it, or lower playback.maxViewers")
        }
        if let descriptors, maxViewers > descriptors - DescriptorLimit.kept {
            maxViewers = max(descriptors - DescriptorLimit.kept, min(descriptors / 4, maxViewers))
            warnings.append(
                "at most \(maxViewers) viewers are admitted: this process may open \(descriptors) files. Raise the limit "
                    + "(LimitNOFILE= of the systemd unit, --ulimit nofile= of the container, ulimit -Hn of the shell), or "
                    + "lower playback.maxViewers")
        }
        return warnings
    }
}
