import Synchronization
import TaskStore

/// Records, while a request is processed, that it must be passed on to another node. Thread-safe.
///
/// Code that finds the request's room at another node records it here and throws; the outermost layer passes the
/// request on, however the layers in between have changed the error.
package final class NodeForwarding: Sendable {
    /// The instance of the request in whose task the caller runs; `nil` outside of requests, and without a cluster.
    @TaskLocal package static var current: NodeForwarding?

    /// Whether another node passed the request on. If so, it is not passed on again.
    package let isForwarded: Bool
    /// Whether a room that no node has may go to a node that is better off than this one.
    package let mayYield: Bool
    private let noted = Mutex<NodeProfile?>(nil)

    package init(isForwarded: Bool, mayYield: Bool = false) {
        self.isForwarded = isForwarded
        self.mayYield = mayYield
    }

    /// The node that has the room; `nil` if the request is answered here.
    package var target: NodeProfile? { isForwarded ? nil : noted.withLock { $0 } }

    /// Whether another node has the room, although the request was passed on to this one.
    package var isElsewhere: Bool { isForwarded && noted.withLock { $0 } != nil }

    func note(_ node: NodeProfile) { noted.withLock { $0 = $0 ?? node } }
}

extension OrchestratorError {
    static func elsewhere(_ room: String, _ node: NodeProfile) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "room-elsewhere", "Another node has the room",
            detail: "the room \(room.shortened(toBytes: 200)) is on the node \(node.name): ask \(node.url)",
            retryAfter: 1)
    }
}
