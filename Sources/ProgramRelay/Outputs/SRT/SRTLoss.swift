import EncodedMedia

/// Decides when a receiver needs a keyframe, because it has not taken packets in time and they were dropped. Pure.
///
/// A keyframe that is made while packets are still being dropped would be dropped with them.
struct SRTLoss: Sendable {
    /// Time without another loss after which the receiver counts as taking packets again.
    static let calm = MediaTime.milliseconds(200)

    private var dropped: UInt64 = 0
    /// Time of the latest loss, until a keyframe has been requested.
    private var lostAt: MediaTime?

    /// Returns whether a keyframe is needed now, once after each series of losses.
    ///
    /// - Parameter total: Number of bytes that the connection has dropped so far.
    mutating func needsKeyframe(dropped total: UInt64, now: MediaTime) -> Bool {
        if total > dropped {
            dropped = total
            lostAt = now
        }
        guard let latest = lostAt, now - latest >= Self.calm else { return false }
        lostAt = nil
        return true
    }
}
