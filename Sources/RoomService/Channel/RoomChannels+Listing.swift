import MixModel
import TextFormats

extension RoomChannels {
    /// A room that is live.
    package struct Listed: Hashable, Sendable {
        package var name: String
        package var title: String?
    }

    /// Returns an app's live rooms, by name: those that were opened through their channel, and those with participants
    /// who publish.
    ///
    /// - Parameter limit: Maximum number of rooms returned.
    package func liveRooms(of app: AppID, limit: Int) async -> [Listed] {
        var rooms: [RoomID: Listed] = [:]
        for channel in channels.values where channel.room.app == app && channel.machine.isLive {
            rooms[channel.room] = Listed(name: channel.room.name, title: channel.machine.title)
        }
        for mirror in mirrors.values where mirror.room.app == app && mirror.machine.state.isLive {
            rooms[mirror.room] = Listed(name: mirror.room.name, title: mirror.machine.state.title)
        }
        for owner in registry.busyOwners where owner.id.app == app && rooms[owner.id] == nil {
            if await owner.snapshot.room.document.hasStreams {
                rooms[owner.id] = Listed(name: owner.id.name, title: nil)
            }
        }
        return Array(rooms.values.sorted { $0.name.precedesInUTF8($1.name) }.prefix(limit))
    }
}
