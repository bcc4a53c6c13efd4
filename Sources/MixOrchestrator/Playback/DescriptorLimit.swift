import Foundation

/// How many files and connections this process may have open: each viewer is one.
enum DescriptorLimit {
    /// Kept for everything but connections of HTTP: relays, the store, layouts, logs.
    static let kept = 1024

    /// Raises the limit to the most that the system lets this process have.
    ///
    /// - Returns: The limit now; `nil` when the system does not tell.
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
    /// Lowers the number of viewers to what the process can carry, so that they never take what everything else needs.
    ///
    /// - Parameters:
    ///   - connections: `http.maxConnections`.
    ///   - descriptors: `nil`: not known.
    /// - Returns: What was lowered and why, in words with the cure.
    mutating func fit(connections: Int, descriptors: Int?) -> [String] {
        var warnings: [String] = []
        let most = connections - min(connections / 4, 256)
        if maxViewers > most {
            maxViewers = most
            warnings.append(
                "at most \(most) viewers are let in: http.maxConnections is \(connections), and some are kept for "
                    + "requests. Raise it, or lower playback.maxViewers")
        }
        if let descriptors, maxViewers > descriptors - DescriptorLimit.kept {
            maxViewers = max(descriptors - DescriptorLimit.kept, min(descriptors / 4, maxViewers))
            warnings.append(
                "at most \(maxViewers) viewers are let in: this process may open \(descriptors) files. Raise the limit "
                    + "(LimitNOFILE= of the systemd unit, --ulimit nofile= of the container, ulimit -Hn of the shell), or "
                    + "lower playback.maxViewers")
        }
        return warnings
    }
}
