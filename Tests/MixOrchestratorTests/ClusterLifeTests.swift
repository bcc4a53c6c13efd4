import EncodedMedia
import MixModel
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

    /// While this node was suspended, a copy of its machine has started and ended its life.
    @Test func aNodeHasNoRoomsWhileItsCopyIsAtWork() async throws {
        let store = MemoryTaskStore()
        try await withQuietNode(store, site: "boot 1") { node, _ in
            let former = node.id
            let leases = try await store.claim([.lease(of: "demo")], by: former, for: .seconds(600))
            node.machine.withLock { $0.took(leases, askedAt: BootClock.now()) }
            #expect(node.relayDeadline("demo") > BootClock.now())
            try await store.expel(former)
            let copy = try await store.register("a", at: "boot 2", for: .seconds(600))
            for _ in 0..<2 {
                await node.renew()
                #expect(node.relayDeadline("demo") == 0 && node.id == former)
                #expect(try await store.nodes().map(\.id) == [copy])
            }
            try await store.expel(copy)
            await node.renew()
            #expect(try await store.nodes().map(\.id) == [node.id] && node.id != former)
        }
    }

    /// A copy of the machine that was suspended renews its leases between this node's registration and its inheritance.
    @Test func aNodeWithdrawsIfItsCopyComesBack() async throws {
        let store = RevivingStore()
        let copy = try await store.register("a", at: "boot 2", for: .zero)
        store.suspended.withLock { $0 = copy }
        await #expect(throws: StoreError.copied("a")) {
            try await withQuietNode(store, site: "boot 1") { _, _ in }
        }
        #expect(try await store.nodes().map(\.id) == [copy])
    }

    /// Renews the leases of a node when another one inherits them.
    private final class RevivingStore: ForwardingTaskStore {
        let base: any TaskStore = MemoryTaskStore()
        let suspended = Mutex<NodeID?>(nil)

        func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease] {
            if suspended.withLock({ $0 }) == earlier { _ = try await base.renew(earlier, for: .seconds(600)) }
            return try await base.inherit(from: earlier, by: node)
        }
    }
}
