import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// Tells the other nodes what publishers say to the players of their streams. Thread-safe.
///
/// Each node is told in order, and none waits for another one. Sayings may be lost, when a node does not answer or too many
/// wait for it.
package final class SayingCourier: Service {
    private let cluster: ClusterAccess
    private let queues = Mutex(SayingQueues())
    private let starts: AsyncStream<NodeID>
    private let start: AsyncStream<NodeID>.Continuation

    package init(cluster: ClusterAccess) {
        self.cluster = cluster
        // It has at most one entry for each node.
        (starts, start) = AsyncStream.makeStream()
    }

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            for await node in starts.cancelOnGracefulShutdown() {
                group.addTask { await self.deliver(to: node) }
            }
            group.cancelAll()
        }
    }

    /// Tells all nodes that are at work. Returns at once.
    package func tell(_ saying: StreamSaying) {
        let nodes = cluster.node.others.filter { $0.isAtWork && $0.profile != nil }.map(\.node.id)
        for node in queues.withLock({ $0.add(saying, for: nodes) }) { start.yield(node) }
    }

    private func deliver(to node: NodeID) async {
        while let sayings = queues.withLock({ $0.take(for: node) }) {
            guard let profile = cluster.node.others.first(where: { $0.node.id == node })?.profile else { continue }
            _ = try? await cluster.exchange.post(
                StreamOrder.say(sayings), to: NodeExchange.streamsPath, of: profile, within: StreamPatience.answer)
        }
    }
}
