import EncodedMedia

/// Decides when to ask a publisher for a keyframe. Pure; times are in ns of a monotonic clock.
///
/// A request may be lost, and libwebrtc ignores requests that come too soon after a keyframe. A request is therefore
/// repeated until an IDR arrives. Browsers send no keyframes by themselves: without repetition a lost request would
/// mean a frozen picture.
struct KeyframeWish: Sendable {
    /// Time between two requests, and time with packets but without a picture after which one is sent unasked.
    static let pause: Int64 = 350_000_000
    /// Number of requests after which the pause becomes `longPause`.
    static let most = 20
    static let longPause: Int64 = 2_000_000_000
    /// Time after the last video packet after which no request is sent: the camera is off.
    static let silence: Int64 = 1_000_000_000

    private var isWanted = true
    private var asked = 0
    private var askedAt: Int64?
    private var lastPicture: Int64?
    /// Time since which packets have arrived, but no picture.
    private var standsSince: Int64?

    init() {}

    /// Records that a receiver needs a keyframe.
    mutating func want() {
        if !isWanted { asked = 0 }
        isWanted = true
    }

    /// Records an access unit.
    mutating func took(isIDR: Bool, now: Int64) {
        lastPicture = now
        standsSince = nil
        guard isIDR else { return }
        isWanted = false
        asked = 0
    }

    /// Returns whether to send a request now.
    ///
    /// - Parameter lastPacket: Arrival of the last video packet; `nil` if none has arrived.
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
