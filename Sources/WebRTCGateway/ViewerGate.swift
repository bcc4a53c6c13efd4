import EncodedMedia

/// Decides which pictures to send to a viewer: it starts with the next IDR or, if none comes soon, with the pictures
/// since the last one. Pure; `now` is in ns of a monotonic clock.
struct ViewerGate: Sendable {
    /// Time to wait for a requested IDR before the group is sent.
    static let wait: Int64 = 200_000_000
    /// Shortest time between two groups for one viewer.
    static let pause: Int64 = 1_000_000_000

    private enum Phase: Hashable, Sendable {
        case closed
        /// The viewer has nothing yet, and gets the group at this time.
        case joining(groupAt: Int64)
        case live
        /// The viewer was too slow, and waits for an IDR.
        case behind
    }

    private var phase = Phase.closed
    private var lastGroup: Int64?
    /// Time at which a live viewer gets the group, because it has requested a keyframe.
    private var groupAt: Int64?

    init() {}

    /// Whether the viewer was too slow, and waits for an IDR.
    var isBehind: Bool { phase == .behind }

    /// Begins: the viewer is connected, or the stream restarts.
    mutating func begin(now: Int64) {
        phase = .joining(groupAt: now.saturatingSum(Self.wait))
        groupAt = nil
    }

    /// Restarts if it has begun.
    mutating func restart(now: Int64) { if phase != .closed { begin(now: now) } }

    /// Records that the viewer has requested a keyframe.
    mutating func keyframeRequested(now: Int64) {
        guard phase == .live, groupAt == nil else { return }
        groupAt = max(now.saturatingSum(Self.wait), lastGroup?.saturatingSum(Self.pause) ?? .min)
    }

    /// Returns whether to send a picture to the viewer.
    ///
    /// - Parameter isBehind: Whether earlier pictures are still waiting to be sent.
    mutating func admits(isIDR: Bool, isBehind: Bool) -> Bool {
        guard phase != .closed else { return false }
        guard !isBehind else {
            if phase == .live { phase = .behind }
            return false
        }
        if isIDR {
            phase = .live
            groupAt = nil
        }
        return phase == .live
    }

    /// Returns whether to send the group to the viewer now. Call it about every 50 ms, if there is a group.
    mutating func takesGroup(now: Int64) -> Bool {
        switch phase {
        case .joining(let time) where now >= time: phase = .live
        case .live where groupAt.map { now >= $0 } ?? false: break
        default: return false
        }
        groupAt = nil
        lastGroup = now
        return true
    }
}
