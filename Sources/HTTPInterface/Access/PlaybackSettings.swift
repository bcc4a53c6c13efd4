import RoomService

/// The settings for viewers of programs.
package struct PlaybackSettings: Sendable {
    package var access = PlaybackAccess()
    /// Whether `playback.access: open` declares programs open to everyone.
    package var isOpenOnPurpose = false
    package var origins = PlaybackOrigins.none
    /// Delay at which a viewer skips to the newest keyframe, in ms of media, 500…60000.
    package var latencyCap = 4000
    /// Largest number of viewers of all programs together. Further viewers get status 503.
    package var maxViewers = 10_000
    package var maxViewersPerProgram = 10_000
    /// Problems that do not prevent the service from starting but should be fixed.
    package var warnings: [String] = []

    /// Allowed lengths of a key, in characters.
    package static let keyLengths = 16...128

    package init() {}
}

extension PlaybackSettings {
    /// Lowers the number of viewers to what the process can carry, so that they leave enough for everything else.
    ///
    /// - Parameters:
    ///   - connections: `http.maxConnections`.
    ///   - descriptors: Limit of open files; `nil` means unknown.
    /// - Returns: Warnings that name the lowered settings, the reason and the remedy.
    package mutating func fit(connections: Int, descriptors: Int?) -> [String] {
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
