import MixModel
import RoomChannel

/// Somebody who follows a channel.
package struct ChannelViewer: Sendable {
    /// A number that is unique within the service.
    package struct ID: Hashable, Sendable {
        let number: Int
    }

    /// Address of the connection, by which viewers are limited.
    package var address: String

    package init(address: String) { self.address = address }
}

/// What a viewer finds when joining a channel. Everything after it is delivered.
package struct ChannelWelcome: Sendable {
    package var viewer: ChannelViewer.ID
    /// Messages, oldest first: all of the history, or those after the number that the viewer knows.
    package var messages: [ChannelMessage]
    /// Numbers of messages that the viewer may have and that were deleted.
    package var deleted: [Int64]
    /// Whether messages between the number that the viewer knows and the first one are gone.
    package var isIncomplete: Bool
    package var state: ChannelState
}
