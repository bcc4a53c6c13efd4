import EncodedMedia
import MixModel
import TaskStore

/// Messages to subscribers about a room and its tasks. They are stored with the change that they report.
extension RoomOwner {
    /// Most messages kept until the store takes them. The oldest are dropped first.
    static let mostUnstoredMessages = 200

    /// Whether the room has an audience: subscribers, or listeners of its feed.
    var isHeard: Bool { services.subscriptions.tells(of: app) || services.feeds.hasListeners(id) }

    /// Returns messages about everything that the draft changes, after those that could not be stored before.
    func messages(for draft: RoomDraft) -> [OutboxMessage] {
        guard isHeard else {
            untold = []
            state.dropOutputChanges()
            return unstoredMessages
        }
        untold = state.takeOccurrences(of: draft, wallTime: wallClock(), now: MonotonicClock.now())
        return unstoredMessages + services.subscriptions.messages(for: untold)
    }

    /// Tells listeners of the room's feed what has been done, whether it is stored or not.
    func tellListeners() {
        guard !untold.isEmpty else { return }
        services.feeds.publish(untold, of: id, numbers: services.numbers)
        untold = []
    }
}
