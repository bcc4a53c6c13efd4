import EncodedMedia

/// Which pictures one viewer is sent: it begins with an IDR, as soon as one comes or, if none does, with those since the last
/// one. Pure; `now` is in ns of a monotonic clock.
struct ViewerGate: Sendable {
    /// Time for which an IDR that was asked for is waited for, before the group is sent.
    static let wait: Int64 = 200_000_000
    /// Time between two groups that are sent to one viewer.
    static let pause: Int64 = 1_000_000_000

    private enum Phase: Hashable, Sendable {
        case closed
        /// Has nothing yet, and gets the group after this time.
        case joining(groupAt: Int64)
        case live
        /// Was too slow, and waits for an IDR.
        case behind
    }

    private var phase = Phase.closed
    private var lastGroup: Int64?
    /// Time at which a live viewer gets the group, because it has asked for a keyframe.
    private var groupAt: Int64?

    init() {}

    /// Whether the viewer was too slow, and waits for an IDR.
    var isBehind: Bool { phase == .behind }

    /// Begins: the viewer is connected, or the stream begins anew.
    mutating func begin(now: Int64) {
        phase = .joining(groupAt: now.saturatingSum(Self.wait))
        groupAt = nil
    }

    /// Begins anew if it has begun.
    mutating func restart(now: Int64) { if phase != .closed { begin(now: now) } }

    /// Notes that the viewer has asked for a keyframe.
    mutating func keyframeRequested(now: Int64) {
        guard phase == .live, groupAt == nil else { return }
        groupAt = max(now.saturatingSum(Self.wait), lastGroup?.saturatingSum(Self.pause) ?? .min)
    }

    /// Returns whether the viewer is sent a picture.
    ///
    /// - Parameter isBehind: Whether what it was sent has not left yet.
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

    /// Returns whether the viewer is sent the group now. Ask every 50 ms or so, if there is one.
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
