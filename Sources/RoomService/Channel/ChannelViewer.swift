import MixModel
import RoomChannel

/// A viewer who wants to follow a channel.
package struct ChannelViewer: Sendable {
    /// A number that is unique within the service.
    package struct ID: Hashable, Sendable {
        let number: Int
    }

    /// Address of the connection. The number of viewers per address is limited.
    package var address: String

    package init(address: String) { self.address = address }
}

/// The state that a viewer receives when joining a channel. Everything after it is delivered.
package struct ChannelWelcome: Sendable {
    package var viewer: ChannelViewer.ID
    /// Messages, oldest first: the whole history, or those after the number that the viewer knows.
    package var messages: [ChannelMessage]
    /// Numbers of messages that the viewer may have and that were deleted.
    package var deleted: [Int64]
    /// Whether messages between the number that the viewer knows and the first one are gone.
    package var isIncomplete: Bool
    package var state: ChannelState
}
