import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The lives of a node that others have expelled.
@Suite(.timeLimit(.minutes(2))) struct ClusterLifeTests {
    /// Lets two renewals begin before either is answered.
    private final class MeetingStore: ForwardingTaskStore {
        let base: any TaskStore = MemoryTaskStore()
        private let renewals = Mutex(0)

        func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal {
            renewals.withLock { $0 += 1 }
            while renewals.withLock({ $0 }) < 2 { await Task.yield() }
            return try await base.renew(node, for: duration)
        }
    }

    /// A second one would stay at work for the length of a lease, without a description, and with what it took.
    @Test func anExpelledNodeBeginsOneNewLife() async throws {
        let store = MeetingStore()
        try await withQuietNode(store) { node, _ in
            let former = node.id
            try await store.expel(former)
            await withDiscardingTaskGroup { group in
                for _ in 0..<2 { group.addTask { await node.renew() } }
            }
            #expect(try await store.nodes().map(\.id) == [node.id] && node.id != former)
        }
    }
}
