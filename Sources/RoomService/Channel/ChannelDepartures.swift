import MixModel
import Synchronization

/// Viewers that have left, until their channels process it. Thread-safe; holds at most as many entries as there are
/// viewers.
final class ChannelDepartures: Sendable {
    private let waiting = Mutex<[(room: RoomID, viewer: ChannelViewer.ID)]>([])

    func add(_ room: RoomID, _ viewer: ChannelViewer.ID) { waiting.withLock { $0.append((room, viewer)) } }

    func take() -> [(room: RoomID, viewer: ChannelViewer.ID)] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
