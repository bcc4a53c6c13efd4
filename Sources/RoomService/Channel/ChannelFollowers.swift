import MixModel
import RoomChannel

/// Somebody who follows a channel here.
struct ChannelFollower {
    var address: String
    var deliver: @Sendable (ChannelDelivery) -> Bool
    /// Called once, if the room is deleted, or nobody can follow it here any more.
    var end: @Sendable () -> Void
}

/// Those who follow one room's channel at this node, wherever the room is. Belongs to `RoomChannels`.
protocol ChannelFollowers: AnyObject {
    var room: RoomID { get }
    var viewers: [ChannelViewer.ID: ChannelFollower] { get set }
    /// Time of the last use, in ns of CLOCK_MONOTONIC.
    var usedAt: Int64 { get set }
    var state: ChannelState { get }
    var history: ChannelHistory { get }
}

extension ChannelFollowers {
    /// Tells everybody, without waiting for anybody.
    ///
    /// - Returns: Those who are gone or too slow.
    func tell(_ notice: ChannelNotice) -> [ChannelViewer.ID] {
        guard !viewers.isEmpty else { return [] }
        let delivery = ChannelDelivery(notice)
        return viewers.compactMap { id, viewer in viewer.deliver(delivery) ? nil : id }
    }
}
