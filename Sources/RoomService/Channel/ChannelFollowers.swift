import MixModel
import RoomChannel

/// A viewer who follows a channel at this node.
struct ChannelFollower {
    var address: String
    var deliver: @Sendable (ChannelDelivery) -> Bool
    /// Called once, when the room is deleted or can no longer be followed here.
    var end: @Sendable () -> Void
}

/// The viewers who follow one room's channel at this node, whichever node has the room. Belongs to `RoomChannels`.
protocol ChannelFollowers: AnyObject {
    var room: RoomID { get }
    var viewers: [ChannelViewer.ID: ChannelFollower] { get set }
    /// Time of the last use, in ns of CLOCK_MONOTONIC.
    var usedAt: Int64 { get set }
    var state: ChannelState { get }
    var history: ChannelHistory { get }
}

extension ChannelFollowers {
    /// Delivers a notice to every viewer, without waiting for any of them.
    ///
    /// - Returns: The viewers who have left or are too slow.
    func tell(_ notice: ChannelNotice) -> [ChannelViewer.ID] {
        guard !viewers.isEmpty else { return [] }
        let delivery = ChannelDelivery(notice)
        return viewers.compactMap { id, viewer in viewer.deliver(delivery) ? nil : id }
    }
}
