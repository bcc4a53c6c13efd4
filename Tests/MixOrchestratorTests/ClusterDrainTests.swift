import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Several requests to move the rooms of one node.
@Suite(.timeLimit(.minutes(2))) struct ClusterDrainTests {
    private final class Belongings: RoomBelongings {
        let rooms: Set<RoomID> = ["r1", "r2"]
        func handOver(_ room: RoomID, to other: NodeProfile) async -> String? { nil }
        func stay(_ room: RoomID) async {}
        func leave(_ room: RoomID) async {}
        func arrive(_ room: RoomID) async {}
        func dropHandover(of room: RoomID) async {}
    }

    /// A receiver that answers when the test wants it, and takes no room.
    private final class Receiver: MoveMessenger {
        let asked = LockedBox<[RoomID]>([])
        private let (questions, question) = AsyncStream.makeStream(of: Void.self)
        private let (answers, answer) = AsyncStream.makeStream(of: Void.self)

        func isAsked() async { for await _ in questions { return } }
        func refuse() { answer.finish() }

        func send(_ order: MoveOrder, to node: NodeProfile, within limit: Duration) async -> MoveReply {
            guard order.step == .prepare else { return .done }
            asked.update { $0.append(order.room) }
            question.yield()
            for await _ in answers {}
            return .refused("not now")
        }
    }

    /// An ingest whose publishers leave at once, or stay for as long as the node waits.
    private final class Streams: LocalStreams {
        let asked = LockedBox(0)
        let staysUntilUnwanted: Bool

        init(staysUntilUnwanted: Bool = false) { self.staysUntilUnwanted = staysUntilUnwanted }

        func hasPublisher(of stream: String) async -> Bool? { false }
        func activity(of stream: String) async -> PublisherActivity { PublisherActivity() }
        func look(at stream: String) {}
        func sendPublishersAway(while isWanted: @Sendable () -> Bool) async -> Int {
            asked.update { $0 += 1 }
            while staysUntilUnwanted, isWanted() { await Task.yield() }
            return 0
        }
        var origins: [String: RoomID] { [:] }
    }

    /// Publishers are asked to reconnect only if there is another node to which they can go.
    @Test(arguments: [true, false]) func publishersAreSentAway(hasOther: Bool) async throws {
        let store = MemoryTaskStore()
        if hasOther {
            let other = try await store.register("b", for: .seconds(600))
            try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key"))
        }
        try await withQuietNode(store) { node, registry in
            let streams = Streams()
            node.attach(registry)
            node.attach(streams)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await node.moveRooms() }
                _ = try await node.drain()
                #expect(streams.asked.value == (hasOther ? 1 : 0))
                group.cancelAll()
            }
        }
    }

    /// A node that takes rooms again, or whose service stops, does not wait for publishers.
    @Test(arguments: [true, false]) func theWaitForPublishersEndsWithTheDrain(isStopped: Bool) async throws {
        let store = MemoryTaskStore()
        let other = try await store.register("b", for: .seconds(600))
        try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key"))
        try await withQuietNode(store) { node, registry in
            let streams = Streams(staysUntilUnwanted: true)
            node.attach(registry)
            node.attach(streams)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await node.moveRooms() }
                async let first = node.drain()
                try await eventually { streams.asked.value == 1 ? true : nil }
                let begun = ContinuousClock.now
                if isStopped {
                    _ = try await node.drain(within: .zero)
                } else {
                    try await node.endDrain()
                }
                _ = try await first
                #expect(ContinuousClock.now - begun < .seconds(8), "less than it waits for them otherwise")
                group.cancelAll()
            }
        }
    }

    /// A service that stops moves its rooms for `node.drainSeconds`, also if a drain by request is under way.
    @Test func aLimitHoldsForAnEarlierDrain() async throws {
        let store = MemoryTaskStore()
        let other = try await store.register("b", for: .seconds(600))
        try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key"))
        try await withQuietNode(store) { node, registry in
            let (belongings, receiver) = (Belongings(), Receiver())
            node.attach(registry)
            node.attach(belongings)
            node.messenger.withLock { $0 = receiver }
            for room in belongings.rooms { try await node.enter(room) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await node.moveRooms() }
                async let first = node.drain()
                await receiver.isAsked()
                async let second = node.drain(within: .zero)
                try await eventually { node.drainEnd.withLock { $0 } == nil ? nil : true }
                receiver.refuse()
                let reasons = try await first.kept.map(\.reason)
                #expect(reasons == ["not now", "the time limit for moving rooms is over"])
                #expect(try await second.kept.count == 2)
                #expect(receiver.asked.value == ["r1"])
                group.cancelAll()
            }
        }
    }
}
