import EventSubscription
import MixModel
import Synchronization

/// The reasons why pages of rooms are not on air, for the views of tasks. Thread-safe; as large as the number of pages.
package final class PageFaults: Sendable {
    private let reasons = Mutex<[StreamNames: String]>([:])

    package init() {}

    /// - Parameter reason: For viewers of the task, without secrets; `nil` = the page is on air, or over.
    func set(_ reason: String?, of names: StreamNames) { reasons.withLock { $0[names] = reason } }

    /// Returns the reason why the page that is a source of a room is not on air; `nil` if it is, has not failed yet, or is
    /// no page.
    package func reason(of source: SourceID, in room: RoomID) -> String? {
        reasons.withLock { reasons in
            // Most rooms have no page, and there are few pages.
            reasons.first {
                $0.key.room == room && SourceID(user: $0.key.user, stream: $0.key.stream) == source
            }?.value
        }
    }
}
