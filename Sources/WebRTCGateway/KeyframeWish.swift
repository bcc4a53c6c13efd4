import EncodedMedia

/// When a publisher is asked for a keyframe. Pure; times in ns of a monotonic clock.
///
/// A request may be lost, and libwebrtc ignores those that come too soon after a keyframe. So one is repeated until an IDR
/// comes. Browsers send no keyframes by themselves: without this a lost request would be a picture that stands still.
struct KeyframeWish: Sendable {
    /// Time between two requests, and of packets without a picture after which one is sent although nobody wants one.
    static let pause: Int64 = 350_000_000
    /// Requests after which the pause is `longPause`.
    static let most = 20
    static let longPause: Int64 = 2_000_000_000
    /// Time after the last video packet beyond which there is nobody to ask: the camera is off.
    static let silence: Int64 = 1_000_000_000

    private var isWanted = true
    private var asked = 0
    private var askedAt: Int64?
    private var lastPicture: Int64?
    /// Time since which packets have come but no picture.
    private var standsSince: Int64?

    init() {}

    /// Notes that somebody needs a keyframe.
    mutating func want() {
        if !isWanted { asked = 0 }
        isWanted = true
    }

    /// Notes an access unit.
    mutating func took(isIDR: Bool, now: Int64) {
        lastPicture = now
        standsSince = nil
        guard isIDR else { return }
        isWanted = false
        asked = 0
    }

    /// Returns whether to ask now.
    ///
    /// - Parameter lastPacket: Arrival of the last video packet; `nil` if none has come.
    mutating func isDue(now: Int64, lastPacket: Int64?) -> Bool {
        guard let lastPacket, now.saturatingDifference(lastPacket) < Self.silence else { return false }
        if standsSince == nil, lastPacket > lastPicture ?? .min { standsSince = now }
        let stands = standsSince.map { now.saturatingDifference($0) >= Self.pause } ?? false
        guard isWanted || stands else { return false }
        let pause = asked < Self.most ? Self.pause : Self.longPause
        if let askedAt, now.saturatingDifference(askedAt) < pause { return false }
        askedAt = now
        asked += 1
        return true
    }
}
