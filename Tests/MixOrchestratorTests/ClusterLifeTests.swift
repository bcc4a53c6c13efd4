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

    /// While this node was suspended, a copy of its machine has ended its life. The copy in turn was suspended for longer
    /// than its lease before this node resumes.
    @Test func aSuspendedCopyIsNotAtWorkBesideTheNextLife() async throws {
        let store = MemoryTaskStore()
        try await withQuietNode(store, site: "boot 1") { node, _ in
            let former = node.id
            try await store.expel(former)
            let copy = try await store.register("a", at: "boot 2", for: .seconds(600))
            #expect(try await store.claim([.lease(of: "demo")], by: copy, for: .zero).count == 1)
            await node.renew()
            #expect(try await store.nodes().map(\.id) == [node.id] && node.id != former)
            // The copy resumes.
            await #expect(throws: StoreError.expelled(copy)) { try await store.renew(copy, for: .seconds(600)) }
            await #expect(throws: StoreError.copied("a")) {
                try await store.register("a", at: "boot 2", for: .seconds(600))
            }
            // Its rooms are for any node.
            #expect(try await store.leases(of: node.id).isEmpty)
            let other = try await store.register("b", for: .seconds(600))
            let taken = try await store.claimRooms(of: [], by: other, limit: 9, for: .seconds(600))
            #expect(taken.map(\.task.leasedRoom) == ["demo"])
        }
    }

    /// A copy of the machine that was suspended renews its leases while this node begins its next life.
    @Test(arguments: [false, true])
    func theNextLifeWithdrawsIfItsCopyComesBack(_ isBeforeLook: Bool) async throws {
        let store = RevivingStore(isBeforeLook: isBeforeLook)
        try await withQuietNode(store, site: "boot 1") { node, _ in
            let former = node.id
            let leases = try await store.claim([.lease(of: "demo")], by: former, for: .seconds(600))
            node.machine.withLock { $0.took(leases, askedAt: BootClock.now()) }
            try await store.expel(former)
            let copy = try await store.register("a", at: "boot 2", for: .zero)
            store.suspended.withLock { $0 = copy }
            for _ in 0..<2 {
                await node.renew()
                #expect(node.relayDeadline("demo") == 0 && node.id == former)
                #expect(try await store.nodes().map(\.id) == [copy])
            }
        }
    }

    /// An earlier attempt to begin a life has succeeded, but its answer was lost.
    @Test func aLifeThatTheNodeDoesNotKnowIsEnded() async throws {
        let store = MemoryTaskStore()
        try await withQuietNode(store, site: "boot 1") { node, _ in
            try await store.expel(node.id)
            let unknown = try await store.register("a", at: "boot 1", for: .seconds(600))
            await node.renew()
            #expect(try await store.nodes().map(\.id) == [node.id] && node.id != unknown)
        }
    }

    /// Renews the leases of a node when another one inherits them, or before another one looks for it.
    private final class RevivingStore: ForwardingTaskStore {
        let base: any TaskStore = MemoryTaskStore()
        let suspended = Mutex<NodeID?>(nil)
        private let isBeforeLook: Bool

        init(isBeforeLook: Bool = false) { self.isBeforeLook = isBeforeLook }

        func roster() async throws(StoreError) -> [NodeEntry] {
            if isBeforeLook, let node = suspended.withLock({ $0 }) {
                _ = try await base.renew(node, for: .seconds(600))
            }
            return try await base.roster()
        }

        func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease] {
            if suspended.withLock({ $0 }) == earlier { _ = try await base.renew(earlier, for: .seconds(600)) }
            return try await base.inherit(from: earlier, by: node)
        }
    }
}
