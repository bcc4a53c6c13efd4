import CLibPQ
import Foundation

extension PGConnection {
    /// A message that another connection sent with NOTIFY.
    struct Notification: Sendable {
        var channel: String
        var payload: String
    }

    /// Waits for notifications on the channels to which the connection listens. Blocks.
    ///
    /// - Parameters:
    ///   - limit: Time after which it returns none.
    ///   - alarm: Descriptor that ends the wait when it becomes readable.
    /// - Throws: `PGFailure` of the kind `lost`.
    func notifications(within limit: Duration, orUntil alarm: Int32) throws(PGFailure) -> [Notification] {
        // Notifications that arrived with the answer to another statement.
        let early = takeNotifications()
        guard early.isEmpty else { return early }
        var polls = [
            pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0),
            pollfd(fd: alarm, events: Int16(POLLIN), revents: 0),
        ]
        guard polls[0].fd >= 0 else { throw PGFailure(.lost, "the connection is gone") }
        let milliseconds = limit.components.seconds * 1000 + limit.components.attoseconds / 1_000_000_000_000_000
        guard poll(&polls, 2, Int32(clamping: milliseconds)) > 0, polls[0].revents != 0 else { return [] }
        guard PQconsumeInput(handle) == 1 else { throw failure() }
        return takeNotifications()
    }

    private func takeNotifications() -> [Notification] {
        var taken: [Notification] = []
        while let found = PQnotifies(handle) {
            taken.append(
                Notification(
                    channel: String(cString: found.pointee.relname), payload: String(cString: found.pointee.extra)))
            PQfreemem(found)
        }
        return taken
    }
}
